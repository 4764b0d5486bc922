"""One configuration and one open run made of it: models, answers, budget, folder, progress and results."""
