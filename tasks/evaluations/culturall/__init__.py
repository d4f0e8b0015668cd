"""CulturALL (Lin et al. 2026): grounded tasks in 14 languages, answered briefly, judged by gold answers."""
