"""The account plane's plain values and decisions: messages, what a venue's account adapter is, an account's state."""
