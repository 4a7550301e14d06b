"""Sessions (SES)."""
