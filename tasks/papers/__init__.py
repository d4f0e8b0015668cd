"""What is known of each paper: its published numbers, made again from its authors' files."""
