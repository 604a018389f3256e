"""Loop IR: the imperative language between Core and every target."""
