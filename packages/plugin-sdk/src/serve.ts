/** The plugin's side of the protocol: reads messages, handles them and responds. */
import { Console } from 'node:console';
import type { Readable, Writable } from 'node:stream';
import { Answers } from './answers.ts';
import { Host } from './host.ts';
import { LineWriter, readLines } from './lines.ts';
import { manifestOf, type Plugin, type PluginContext } from './plugin.ts';
import { type HostMessages, PROTOCOL_VERSION } from './protocol.ts';

export interface ServeOptions {
  input?: Readable;
  output?: Writable;
  workspace?: string;
  /** Called when everything is done; by default the process exits. */
  exit?: (code: number) => void;
}

/** The host kills the process after 5 s. */
const STOP_MS = 4000;

/** Runs the plugin until the host ends it or closes its pipe. */
export async function serve(plugin: Plugin, options: ServeOptions = {}): Promise<void> {
  const { input = process.stdin, output = process.stdout, workspace = ownWorkspace() } = options;
  const exit = options.exit ?? ((code: number) => process.exit(code));
  // stdout carries the protocol, so console output goes to stderr, of which the host keeps the end.
  if (output === process.stdout) globalThis.console = new Console(process.stderr, process.stderr);
  exit(await new Session(plugin, output, workspace).run(input));
}

const ownWorkspace = (): string => process.env.SERVICE_PLUGIN_WORKSPACE ?? process.cwd();

class Session {
  readonly #plugin: Plugin;
  readonly #writer: LineWriter;
  readonly #workspace: string;
  readonly #ended = new AbortController();
  readonly #host: Host;
  #answers: Answers | undefined;
  /** The exit code if the start failed. */
  readonly #failed = Promise.withResolvers<number>();

  constructor(plugin: Plugin, output: Writable, workspace: string) {
    this.#plugin = plugin;
    this.#writer = new LineWriter(output);
    this.#workspace = workspace;
    this.#host = new Host((type, payload) => this.#writer.write({ type, payload }));
  }

  /** @returns the exit code */
  async run(input: Readable): Promise<number> {
    const code = await Promise.race([this.#read(input), this.#failed.promise]);
    await this.#stop();
    return code;
  }

  /** Until the host ends it. */
  async #read(input: Readable): Promise<number> {
    for await (const line of readLines(input)) {
      const message = parse(line);
      if (message?.type === 'shutdown') break;
      // Not awaited: a running handler may be waiting for the host's responses, which are read here.
      if (message) this.#take(message);
      else this.#host.log('error', 'the host sent a line that is no message');
    }
    return 0;
  }

  #take({ type, payload }: Message): void {
    if (type === 'init') void this.#start(payload as HostMessages['init']);
    else if (type === 'tool_result') this.#host.settle(payload as HostMessages['tool_result']);
    else void this.#answers?.to(type, payload);
  }

  async #start(init: HostMessages['init']): Promise<void> {
    const context: PluginContext = {
      plugin_id: init.plugin_id,
      company_id: init.company_id,
      config: init.config ?? {},
      capabilities: init.host_capabilities,
      workspace: this.#workspace,
      host: this.#host,
      signal: this.#ended.signal,
    };
    this.#answers = new Answers(this.#plugin, context, this.#writer);
    const ready = { manifest: manifestOf(this.#plugin), protocol_version: PROTOCOL_VERSION };
    if (!(await this.#answers.started(ready))) this.#failed.resolve(1);
  }

  async #stop(): Promise<void> {
    this.#ended.abort();
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, STOP_MS);
    });
    await Promise.race([this.#answers?.stopped(), late]);
    clearTimeout(timer);
  }
}

interface Message {
  type: string;
  payload: unknown;
}

function parse(line: string): Message | undefined {
  try {
    const { type, payload = {} } = JSON.parse(line) as Partial<Message>;
    return typeof type === 'string' ? { type, payload } : undefined;
  } catch {
    return undefined;
  }
}
