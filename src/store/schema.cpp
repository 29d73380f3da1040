// SPDX-License-Identifier: Apache-2.0
// Each entry is published for ever: append, never edit.
#include "store/schema.h"

#include <array>

namespace szarena::store {
namespace {

constexpr std::string_view kVersion1 = R"sql(
CREATE TABLE campaign (
  name TEXT PRIMARY KEY,
  created_at TEXT NOT NULL,
  complete INTEGER NOT NULL CHECK (complete IN (0, 1)),
  environment TEXT NOT NULL CHECK (json_valid(environment))
) STRICT;

CREATE TABLE session (
  id INTEGER PRIMARY KEY,
  campaign TEXT NOT NULL REFERENCES campaign (name),
  task TEXT NOT NULL,
  target TEXT NOT NULL,
  source TEXT NOT NULL,
  tier TEXT NOT NULL,
  agent TEXT NOT NULL,
  workflow TEXT NOT NULL,
  trial INTEGER NOT NULL CHECK (trial >= 1),
  agent_identity TEXT NOT NULL CHECK (json_valid(agent_identity)),
  prompt_sha256 TEXT NOT NULL,
  transcript TEXT NOT NULL,
  hidden_seed TEXT,                  -- of the hidden data, decimal; for replay, kept out of sandboxes
  started_at TEXT NOT NULL,
  ended_at TEXT,
  stop_reason TEXT CHECK (stop_reason IN
    ('submitted', 'budget', 'no-progress', 'gave-up', 'error', 'interrupted')),
  stop_detail TEXT NOT NULL DEFAULT '',
  wall_seconds REAL,
  model_calls INTEGER,
  tokens_in INTEGER,
  tokens_out INTEGER,
  tokens_reasoning INTEGER,
  cost_usd REAL,
  CHECK ((ended_at IS NULL) = (stop_reason IS NULL)),
  UNIQUE (campaign, task, target, source, tier, agent, workflow, trial)
) STRICT;

CREATE TABLE attempt (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL REFERENCES session (id) ON DELETE CASCADE,
  number INTEGER NOT NULL CHECK (number >= 1),
  label TEXT NOT NULL,
  idea TEXT NOT NULL,
  candidate_sha256 TEXT NOT NULL,
  stage TEXT,                        -- furthest reached; null where not even received
  runnable INTEGER NOT NULL CHECK (runnable IN (0, 1)),
  decodable INTEGER NOT NULL CHECK (decodable IN (0, 1)),
  correct INTEGER NOT NULL CHECK (correct IN (0, 1)),
  ranked INTEGER NOT NULL CHECK (ranked IN (0, 1)),
  ratio REAL,
  max_error_over_bound REAL,
  verdict TEXT NOT NULL CHECK (json_valid(verdict)),
  UNIQUE (session, number)
) STRICT;
CREATE INDEX attempt_by_candidate ON attempt (candidate_sha256);

CREATE TABLE measurement (
  attempt INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
  program TEXT NOT NULL CHECK (program IN ('candidate', 'baseline')),
  direction TEXT NOT NULL,           -- compress, decompress, run, inverse
  level TEXT NOT NULL CHECK (level IN ('kernel', 'device', 'host')),
  basis TEXT NOT NULL CHECK (basis IN ('measured', 'estimated')),
  median_gbs REAL NOT NULL,          -- GB/s (1e9) of uncompressed bytes
  q1_gbs REAL NOT NULL,
  q3_gbs REAL NOT NULL,
  samples INTEGER NOT NULL,
  PRIMARY KEY (attempt, program, direction, level)
) STRICT, WITHOUT ROWID;
)sql";

// Tokens that the provider had cached; figures that were neither measured nor estimated.
constexpr std::string_view kVersion2 = R"sql(
ALTER TABLE session ADD COLUMN tokens_cached INTEGER;  -- part of tokens_in

CREATE TABLE measurement_2 (
  attempt INTEGER NOT NULL REFERENCES attempt (id) ON DELETE CASCADE,
  program TEXT NOT NULL CHECK (program IN ('candidate', 'baseline')),
  direction TEXT NOT NULL,           -- compress, decompress, run, inverse
  level TEXT NOT NULL CHECK (level IN ('kernel', 'device', 'host')),
  basis TEXT NOT NULL CHECK (basis IN ('measured', 'estimated', 'synthetic')),
  median_gbs REAL NOT NULL,          -- GB/s (1e9) of uncompressed bytes
  q1_gbs REAL NOT NULL,
  q3_gbs REAL NOT NULL,
  samples INTEGER NOT NULL,
  PRIMARY KEY (attempt, program, direction, level)
) STRICT, WITHOUT ROWID;
INSERT INTO measurement_2 SELECT * FROM measurement;
DROP TABLE measurement;
ALTER TABLE measurement_2 RENAME TO measurement;
)sql";

// What programs did on the wafer, a row a direction, for queries; the verdict holds it.
constexpr std::string_view kVersion3 = R"sql(
CREATE VIEW wafer_activity AS
SELECT attempt.id AS attempt, attempt.runnable, attempt.correct,
  CASE part.key WHEN 'forward' THEN 'compress or run' ELSE 'decompress or inverse' END AS direction,
  json_extract(verdict, '$.wafer.variant') AS variant,
  json_extract(verdict, '$.wafer.toolchain') AS toolchain,
  json_extract(verdict, '$.wafer.arch') AS arch,
  json_extract(verdict, '$.wafer.width') AS width,
  json_extract(verdict, '$.wafer.height') AS height,
  json_extract(part.value, '$.elements') AS elements,
  json_extract(part.value, '$.pes_active') AS pes_active,
  json_extract(part.value, '$.busy_cycles') AS busy_cycles,
  json_extract(part.value, '$.stalled_cycles') AS stalled_cycles,
  json_extract(part.value, '$.idle_cycles') AS idle_cycles,
  json_extract(part.value, '$.scalar_instructions') AS scalar_instructions,
  json_extract(part.value, '$.vector_arithmetic') AS vector_arithmetic,
  json_extract(part.value, '$.wavelets') AS wavelets,
  json_extract(part.value, '$.bytes_in') AS bytes_in,
  json_extract(part.value, '$.bytes_out') AS bytes_out,
  json_extract(part.value, '$.load_seconds') AS load_seconds,
  json_extract(part.value, '$.copy_in_seconds') AS copy_in_seconds,
  json_extract(part.value, '$.launch_cycles') AS launch_cycles,
  json_extract(part.value, '$.launch_seconds') AS launch_seconds,
  json_extract(part.value, '$.copy_out_seconds') AS copy_out_seconds
FROM attempt, json_each(attempt.verdict, '$.wafer') AS part
WHERE part.key IN ('forward', 'backward') AND part.type = 'object';
)sql";

constexpr std::array<std::string_view, 3> kMigrations = {kVersion1, kVersion2, kVersion3};

}  // namespace

std::span<const std::string_view> Migrations() { return kMigrations; }

}  // namespace szarena::store
