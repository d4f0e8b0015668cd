-- The same weights in two engines are one model. Runs of before are named by what their engine spec says: as
-- tasks/engines/local/weights.py names all but models in local folders, which stand under their paths here.

ALTER TABLE run ADD COLUMN model_hash VARCHAR DEFAULT '';
COMMENT ON COLUMN run.model_hash IS 'Hash of weights, revision and prompt style, without engine, precision and options: what evaluations are joined on. null for null models.';

UPDATE run SET model_hash = CASE
    WHEN is_null THEN 'null'
    WHEN (engine->>'server') IS NOT NULL THEN substr(sha256(concat_ws(chr(10),
        (engine->>'server') || '/' || (engine->>'model'), coalesce(engine->>'revision', ''), '',
        coalesce(engine->>'reasoning', ''), coalesce(engine->>'web', ''))), 1, 16)
    WHEN (engine->>'model') IS NOT NULL THEN substr(sha256(concat_ws(chr(10),
        engine->>'model', coalesce(engine->>'revision', ''), coalesce(engine->>'prompt_style', 'auto'), '', '')), 1, 16)
    ELSE engine_hash
END;
