"""What people read: tables, plans, reports, logs."""
