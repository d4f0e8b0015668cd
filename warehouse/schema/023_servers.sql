-- A server's address is part of its engine's identity. Runs of before did not say whose answers they hold: two servers
-- of one model name had shared them.

UPDATE run SET engine = json_merge_patch(engine, '{"server": "unknown"}') WHERE engine->>'kind' = 'openai';

COMMENT ON COLUMN run.engine IS 'Engine spec: kind, model, revision, dtype and so on; of a served model server: its host, port and path, or what it is served as; "unknown" for runs of older code, whose answers may be of several servers.';
