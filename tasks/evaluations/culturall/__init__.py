"""CulturALL (Lin et al. 2026): grounded tasks in 14 languages; short answers are judged against
gold answers.
"""
