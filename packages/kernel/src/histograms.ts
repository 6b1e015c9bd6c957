/**
 * Histograms that OpenTelemetry's reader collects. Its own sort and serialize the attributes of each value to find its series,
 * which is noticeable in every request; here the attributes of a request are one frozen object, and its series hangs on it.
 */
import type { Attributes, HrTime } from '@opentelemetry/api';
import {
  AggregationTemporality,
  type CollectionResult,
  DataPointType,
  type HistogramMetricData,
  type MetricProducer,
} from '@opentelemetry/sdk-metrics';
import type { Resource } from '@opentelemetry/resources';
import { ValueType } from '@opentelemetry/api';
import type { TraceAttributes } from './tracing.ts';

/** Models and categories of errors are not ours to limit: beyond this, values are counted without their attributes. */
const MAX_SERIES = 2000;
const OVERFLOW: TraceAttributes = Object.freeze({ 'otel.metric.overflow': true });

interface Series {
  readonly attributes: Attributes;
  readonly since: HrTime;
  readonly counts: number[];
  count: number;
  sum: number;
  min: number;
  max: number;
}

export interface HistogramRow {
  readonly unit: string;
  /** Inclusive upper bounds of all buckets but the last. */
  readonly buckets: readonly number[];
}

export class Histogram {
  readonly #row: HistogramRow;
  readonly #series = new Map<string, Series>();
  readonly #ofFrozen = new WeakMap<TraceAttributes, Series>();

  constructor(row: HistogramRow) {
    this.#row = row;
  }

  record(value: number, attributes: TraceAttributes): void {
    if (!Number.isFinite(value)) return;
    const series = this.#ofFrozen.get(attributes) ?? this.#find(attributes);
    const { buckets } = this.#row;
    let at = 0;
    while (at < buckets.length && value > buckets[at]!) at += 1;
    series.counts[at]! += 1;
    series.count += 1;
    series.sum += value;
    if (value < series.min) series.min = value;
    if (value > series.max) series.max = value;
  }

  /** Undefined if nothing was recorded. */
  collect(name: string, now: HrTime): HistogramMetricData | undefined {
    if (this.#series.size === 0) return undefined;
    const { unit, buckets } = this.#row;
    return {
      descriptor: { name, description: '', unit, valueType: ValueType.DOUBLE },
      aggregationTemporality: AggregationTemporality.CUMULATIVE,
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: [...this.#series.values()].map(({ attributes, since, counts, count, sum, min, max }) => ({
        attributes,
        startTime: since,
        endTime: now,
        value: { buckets: { boundaries: [...buckets], counts: [...counts] }, count, sum, min, max },
      })),
    };
  }

  #find(attributes: TraceAttributes): Series {
    const known = Object.entries(attributes).filter(([, value]) => value !== undefined);
    // Recorded at a few places, each of which names its attributes in the same order.
    const key = JSON.stringify(known);
    let series = this.#series.get(key);
    if (series === undefined) {
      if (this.#series.size >= MAX_SERIES && attributes !== OVERFLOW) return this.#find(OVERFLOW);
      const counts = Array.from({ length: this.#row.buckets.length + 1 }, () => 0);
      const extremes = { min: Infinity, max: -Infinity };
      const about = Object.fromEntries(known) as Attributes;
      series = { attributes: about, since: hrTime(), counts, count: 0, sum: 0, ...extremes };
      this.#series.set(key, series);
    }
    if (Object.isFrozen(attributes)) this.#ofFrozen.set(attributes, series);
    return series;
  }
}

/** What the reader of OpenTelemetry's metrics asks for. */
export const producerOf = (
  histograms: Readonly<Record<string, Histogram>>,
  scope: string,
  resource: Resource,
): MetricProducer => ({
  collect: async (): Promise<CollectionResult> => {
    const now = hrTime();
    const metrics = Object.entries(histograms).flatMap(
      ([name, histogram]) => histogram.collect(name, now) ?? [],
    );
    const scopeMetrics = metrics.length === 0 ? [] : [{ scope: { name: scope }, metrics }];
    return Promise.resolve({ resourceMetrics: { resource, scopeMetrics }, errors: [] });
  },
});

/** Seconds and nanoseconds. */
function hrTime(): HrTime {
  const now = Date.now();
  return [Math.floor(now / 1000), (now % 1000) * 1e6];
}
