"""One module per venue and product: its topics, its conversation, its REST."""
