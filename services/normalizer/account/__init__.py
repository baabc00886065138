"""The account plane's normalizer: every event once, in order, remembered over restarts."""
