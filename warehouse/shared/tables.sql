-- The tables of a shared store, made by the first call that finds one missing.
CREATE SCHEMA IF NOT EXISTS culturemeter;
CREATE TABLE IF NOT EXISTS culturemeter.store (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    log text NOT NULL,
    parts text NOT NULL
);
COMMENT ON TABLE culturemeter.store IS
    'One row: name of the log of registrations, and address of the parts.';
CREATE TABLE IF NOT EXISTS culturemeter.published (
    version bigint PRIMARY KEY,
    sha256 text NOT NULL CHECK (sha256 ~ '^[0-9a-f]{64}$'),
    bytes bigint NOT NULL,
    folded bigint NOT NULL,
    published_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE culturemeter.published IS
    'The newest version is the file that everybody reads: published/<version>-<sha256>.duckdb on S3.';
COMMENT ON COLUMN culturemeter.published.folded IS 'Registrations up to this id are in the file.';
CREATE TABLE IF NOT EXISTS culturemeter.registration (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind text NOT NULL,
    request_hash text NOT NULL,
    unit text NOT NULL,
    part text NOT NULL,
    run_id text NOT NULL,
    n_rows bigint NOT NULL,
    written_at timestamp NOT NULL
);
COMMENT ON TABLE culturemeter.registration IS
    'Parts and the units that they answer. Rows are only added, in the order of ids; the first row of a unit counts.';
CREATE TABLE IF NOT EXISTS culturemeter.batch_job (
    request_hash text NOT NULL,
    name text NOT NULL,
    note text NOT NULL,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (request_hash, name)
);
COMMENT ON TABLE culturemeter.batch_job IS
    'Jobs sent to a Batch API: file, batch, requests. Delete a row to have the job sent, and paid for, again.';
CREATE TABLE IF NOT EXISTS culturemeter.lease (
    request_hash text NOT NULL,
    unit text NOT NULL,
    holder text NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (request_hash, unit)
);
COMMENT ON TABLE culturemeter.lease IS
    'Units that a process is answering, so that no other process answers them too. The process renews its rows; if it is killed, they expire.';
