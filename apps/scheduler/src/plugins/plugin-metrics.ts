import { conflict } from '@acp/kernel';
import { Counter, Gauge, register } from 'prom-client';

const MAX_SERIES = 50;
const labels = ['plugin_id', 'company_id', 'name'];

/** Metrics reported by plugins, for /metrics of the process that runs them. */
export class PluginMetrics {
  readonly #counters = metric(
    'service_plugin_total',
    (name) => new Counter({ name, help: 'Counted by plugins.', labelNames: labels }),
  );
  readonly #gauges = metric(
    'service_plugin_value',
    (name) => new Gauge({ name, help: 'Reported by plugins.', labelNames: labels }),
  );
  readonly #names = new Map<string, Map<string, 'counter' | 'gauge'>>();

  /** @throws conflict for too many names, or a kind other than before */
  record(
    plugin: { plugin_id: string; company_id: string },
    { name, kind, value }: { name: string; kind: 'counter' | 'gauge'; value: number },
  ): void {
    const names = this.#names.get(plugin.plugin_id) ?? new Map<string, 'counter' | 'gauge'>();
    this.#names.set(plugin.plugin_id, names);
    const known = names.get(name);
    if (known !== undefined && known !== kind) throw conflict(`${name} is a ${known}`);
    if (known === undefined && names.size >= MAX_SERIES)
      throw conflict(`a plugin has ${MAX_SERIES} metrics at most`);
    names.set(name, kind);
    const series = { plugin_id: plugin.plugin_id, company_id: plugin.company_id, name };
    if (kind === 'gauge') this.#gauges.set(series, value);
    else if (value >= 0) this.#counters.inc(series, value);
    else throw conflict('a counter can only increase');
  }

  /** Drops the metrics of a plugin that no longer runs here. */
  forget({ plugin_id, company_id }: { plugin_id: string; company_id: string }): void {
    for (const [name, kind] of this.#names.get(plugin_id) ?? []) {
      const series = { plugin_id, company_id, name };
      if (kind === 'gauge') this.#gauges.remove(series);
      else this.#counters.remove(series);
    }
    this.#names.delete(plugin_id);
  }
}

/** Several schedulers in one process (tests) share the process's registry. */
function metric<T>(name: string, make: (name: string) => T): T {
  return (register.getSingleMetric(name) as T | undefined) ?? make(name);
}
