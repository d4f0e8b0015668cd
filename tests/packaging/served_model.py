"""A server of the chat API for programs of another environment: ``python served_model.py KEY``.

It prints its address and answers every request until it is terminated; with another key the answer is 401.
"""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = sys.argv[1] if len(sys.argv) > 1 else ""


def value(schema: dict[str, Any]) -> Any:
    """Return a value that a JSON schema allows: the first choice, the smallest number, a plain text."""
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    match schema.get("type"):
        case "object":
            return {name: value(each) for name, each in schema.get("properties", {}).items()}
        case "array":
            return [value(schema.get("items", {}))] * max(1, schema.get("minItems", 1))
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
    return "It is polite there, as people greet the eldest first."


def reply(request: dict[str, Any]) -> dict[str, Any]:
    """Return the body of an answer to a body of ``/chat/completions``."""
    wanted = request.get("response_format", {}).get("json_schema", {}).get("schema")
    text = json.dumps(value(wanted)) if wanted else "Yes. It is polite there."
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    return {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


class Handler(BaseHTTPRequestHandler):
    """Answer every request and log nothing."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        good = not KEY or self.headers.get("Authorization") == f"Bearer {KEY}"
        request = json.loads(body) if body else None
        answer = reply(request) if request else {"object": "list", "data": []}
        data = json.dumps(answer if good else {"error": {"message": "no such key"}}).encode()
        self.send_response(200 if good else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST  # noqa: N815 - the name that the base class asks for

    def log_message(self, *_: Any) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
    server.serve_forever()
