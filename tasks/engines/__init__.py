"""The only code that touches a model: protocols, specs, and the engines behind them."""
