"""Attempts against a gateway: the service drives it, answers its tools, and asks its own judge.

player.GatewayPlayer   from a claimed attempt to a record
app.GatewayApp         the engine's app over an OpenAI-compatible gateway
talk.Talk              the inferences of one attempt, each charged once
tools, pauses          what declared tools give
webhooks               the customer's addresses: guarded, signed like hooks
"""
