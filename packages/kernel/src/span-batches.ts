/** Ended spans on their way to the collector, through OpenTelemetry's exporter, which knows when to try again. */
import { createOtlpHttpExportDelegate } from '@opentelemetry/otlp-exporter-base/node-http';
import { collectorAgent } from './collector-agent.ts';
import type { EndedSpan } from './span-recorder.ts';

interface Collector {
  url: string;
  headers: Record<string, string>;
  timeout_ms: number;
}

interface Batch {
  bytes: Buffer;
  length: number;
  spans: number;
}

const SPANS_PER_BATCH = 512;
/** Of a batch: some 500 bytes for each span. */
const BYTES_PER_BATCH = 256 * 1024;
/** Batches for a slow or unreachable collector; what ends after that is dropped. */
const MAX_WAITING = 8;
const SEND_EVERY_MS = 2000;
const CLOSING = ']}]}]}';

export class SpanBatches {
  readonly #opening: string;
  readonly #exporter: ReturnType<typeof createOtlpHttpExportDelegate<Batch, null>>;
  readonly #waiting: Batch[] = [];
  #ended: EndedSpan[] = [];
  #filling: Batch | null = null;
  /** A buffer to use again. */
  #spare: Buffer | null = null;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | null = null;

  /** @param resource the attributes of this process */
  constructor(collector: Collector, scope: string, resource: Record<string, string>) {
    const attributes = Object.entries(resource).map(([key, stringValue]) => ({
      key,
      value: { stringValue },
    }));
    this.#opening = `{"resourceSpans":[{"resource":${JSON.stringify({ attributes })},"scopeSpans":[{"scope":${JSON.stringify({ name: scope })},"spans":[`;
    this.#exporter = createOtlpHttpExportDelegate<Batch, null>(
      {
        url: collector.url,
        headers: async () => Promise.resolve({ 'Content-Type': 'application/json', ...collector.headers }),
        timeoutMillis: collector.timeout_ms,
        // One at a time; it counts the last one until after its answer.
        concurrencyLimit: 2,
        compression: 'none',
        agentFactory: collectorAgent(collector.timeout_ms),
      },
      {
        serializeRequest: ({ bytes, length }) => bytes.subarray(0, length),
        deserializeResponse: () => null,
      },
      'otlp_http_span_exporter',
      { name: 'span', countItems: ({ spans }) => spans },
      undefined,
    );
  }

  add(span: EndedSpan): void {
    if (this.#waiting.length >= MAX_WAITING) return;
    this.#ended.push(span);
    if (this.#ended.length === SPANS_PER_BATCH) this.#seal();
    else this.#timer ??= setTimeout(() => this.#seal(), SEND_EVERY_MS).unref();
  }

  /** Sends what is left, once. */
  async stop(): Promise<void> {
    this.#seal();
    await this.#sending;
    await this.#exporter.shutdown();
  }

  #begin(): Batch {
    const bytes = this.#spare ?? Buffer.allocUnsafeSlow(BYTES_PER_BATCH);
    this.#spare = null;
    return { bytes, length: bytes.write(this.#opening), spans: 0 };
  }

  #seal(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const ended = this.#ended;
    this.#ended = [];
    for (const span of ended) this.#write(span.json());
    this.#finish();
  }

  #write(json: string): void {
    // At worst three bytes for each UTF-16 unit.
    const most = 3 * json.length + CLOSING.length + 1;
    if (this.#opening.length * 3 + most > BYTES_PER_BATCH) return;
    if (this.#filling && this.#filling.length + most > BYTES_PER_BATCH) this.#finish();
    if (this.#waiting.length >= MAX_WAITING) return;
    const batch = (this.#filling ??= this.#begin());
    if (batch.spans > 0) batch.bytes[batch.length++] = COMMA;
    batch.length += batch.bytes.write(json, batch.length);
    batch.spans += 1;
  }

  #finish(): void {
    const batch = this.#filling;
    if (batch === null) return;
    this.#filling = null;
    batch.length += batch.bytes.write(CLOSING, batch.length);
    this.#waiting.push(batch);
    this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    for (let batch = this.#waiting[0]; batch; batch = this.#waiting[0]) {
      const sent = batch;
      // Whether it arrived or not: the exporter has tried for as long as it may.
      await new Promise<void>((tried) => this.#exporter.export(sent, () => tried()));
      this.#waiting.shift();
      this.#spare = sent.bytes;
    }
    this.#sending = null;
  }
}

const COMMA = ','.charCodeAt(0);
