"""CulturALL (Lin et al. 2026): grounded tasks in 14 languages, answered in few words and judged against a gold answer."""
