import { CallWatch } from './llm/call-watch.ts';
import { type Connection, connectionTo, presentable } from './llm/connection.ts';
import { failureOfThrown } from './llm/failure.ts';
import type { ProviderSpec } from './task.ts';

/** Outcome of probing a provider. */
export interface Probe {
  ok: boolean;
  /** Null if it failed or does not count models. */
  model_count: number | null;
  /** Their ids, sorted, at most 500; null as above. */
  models: string[] | null;
  latency_ms: number;
  /** Safe to show: without the provider's secrets. */
  error: string | null;
}

export interface ListedModels {
  count: number;
  ids: string[];
}

// Below the 30 s within which the caller's command must be answered (decisions 6).
const timeouts = { idle_sec: 20, total_sec: 20 };

/** Runs and times `work` against the provider, and turns errors into a result. */
export async function probed(
  provider: ProviderSpec,
  signal: AbortSignal,
  work: (connection: Connection, watch: CallWatch) => Promise<ListedModels | null>,
): Promise<Probe> {
  const started = performance.now();
  const result = (listed: ListedModels | null, error: string | null): Probe => ({
    ok: error === null,
    model_count: listed?.count ?? null,
    models: listed?.ids ?? null,
    latency_ms: Math.round(performance.now() - started),
    error,
  });
  const watch = new CallWatch(signal, timeouts);
  let connection: Connection | null = null;
  try {
    connection = connectionTo(provider);
    const { scrubber } = connection;
    const listed = await work(connection, watch);
    return result(listed && { ...listed, ids: listed.ids.map((id) => scrubber.scrub(id)) }, null);
  } catch (thrown) {
    const reason: unknown = watch.signal.aborted ? watch.signal.reason : thrown;
    const failure = failureOfThrown(reason);
    return result(
      null,
      connection === null ? failure.message : presentable(failure, connection.scrubber).message,
    );
  } finally {
    watch.close();
  }
}
