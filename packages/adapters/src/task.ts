import type { ProviderFamily } from '@acp/contract';
import type { Config } from '@acp/kernel';
import type { EgressPlace } from './sandbox/egress-place.ts';
import type { Reach, RefusedPlace } from './sandbox/reach.ts';

export interface ProviderSpec {
  family: ProviderFamily;
  /** For `family_cloud`, the JSON credentials. */
  api_key: string | null;
  /** Null: the vendor's default. Required for `family_compat`. */
  base_url: string | null;
  custom_headers?: Record<string, string>;
  /** The kernel's guarded fetch; by default the platform's. */
  fetch?: typeof fetch;
}

/** An image in a message to a model. */
export interface TaskImage {
  filename: string;
  media_type: string;
  bytes: Uint8Array;
}

export interface AdapterTask {
  run_id: string;
  adapter_type: string;
  provider: ProviderSpec | null;
  model: string;
  system_prompt: string;
  /** Only models receive images; other adapters get the text. */
  messages: { role: 'user' | 'assistant'; content: string; images?: readonly TaskImage[] }[];
  max_output_tokens: number;
  /** Without a byte from the provider, and in total including retries. */
  timeouts: { idle_sec: number; total_sec: number };
  adapter_config: unknown;
  /** For adapters that start a program: CLIs and containers. */
  program?: ProgramSpec;
  /** For `lambda`. */
  cloud?: CloudSpec;
  /** The task payload (specification, Remote workers), for `docker` and `lambda`. */
  payload?: Record<string, unknown>;
}

export interface ProgramSpec {
  /** The CLI's program and the operator's own arguments; unused by `docker`. */
  command: readonly string[];
  /** The agent's home and working folder; both exist. */
  home: string;
  cwd: string;
  /** The working folder if it is not inside the home. */
  workspace?: ProgramWorkspace;
  /** The workspace is read-only where the sandbox can enforce it. */
  read_only?: boolean;
  /** `dev:ino` of the home, for checking it under another name. */
  home_identity?: string;
  /** Called before every start; throws if the home's path now leads to another folder. */
  checkHome?: () => Promise<void>;
  /**
   * Called with every start: `kill` ends the program at once for a reason, and resolves when nothing of it is left. Returns what is
   * called after its end.
   */
  watch?: (kill: (reason: string) => Promise<void>) => () => void;
  /** The program's complete environment; SERVICE_RUN_ID in it marks every process that descends from it. */
  env: Record<string, string>;
  /**
   * Variables set by the tenant: visible to the program only. Whatever starts it on this machine must not see them, since they
   * could name a library to load or an engine to use.
   */
  own_env?: Record<string, string>;
  /** For the whole program; whatever is left then is killed. */
  timeout_sec: number;
  session: CliSession | null;
  /** How often the CLI retries a failed model call; by default a few times. */
  retries?: number;
  /** Null: runs on this machine. */
  container: ContainerSpec | null;
  /** For programs on this machine; absent: no sandbox. */
  sandbox?: SandboxSpec | undefined;
}

/** A folder that outlives the agent's work; the program sees nothing of its surroundings. */
interface ProgramWorkspace {
  path: string;
  /** `dev:ino`. */
  identity: string;
  /** Folders next to it that may be read, at their own paths. */
  readable: readonly string[];
}

/** The operator's rules for containers. */
export interface ContainerSpec extends ProgramLimits {
  /** The engine's command line. */
  cli: readonly string[];
  /** Environment variables that the engine's command line needs. */
  cli_env: Record<string, string>;
  image: string;
  /** `none`: no network. */
  network: string;
  /** Instead of a network: what can be reached through the proxy. */
  reach?: Reach;
  /** As for a sandbox. */
  loopback?: EgressPlace | null;
}

/** Limits for a program and everything it starts. */
export interface ProgramLimits {
  /** `2g` */
  memory: string;
  /** Number of processors, averaged over a few seconds. */
  cpus: number;
  pids: number;
}

/** The sandbox for a program on this machine. */
export interface SandboxSpec {
  /** Path of the executable. */
  bubblewrap: string;
  /** Readable in addition to what programs need to run. */
  readable: readonly string[];
  /** Never visible, wherever they are: the service's own folders. */
  hidden: readonly string[];
  /** Everything that the network reaches. */
  reach: Reach;
  /** The service's own address if it is on this machine: available on the sandbox's loopback as well. */
  loopback: EgressPlace | null;
  limits: ProgramLimits;
  /** Whether a control group is made for each run, where the kernel permits. */
  control_groups: Config['plugin_control_groups'];
}

interface CloudSpec {
  region: string;
  /** Overrides the region's endpoint. */
  endpoint: string | null;
  fetch?: typeof fetch;
}

/** Totals reported for a CLI session up to the end of a run; later reports continue from here. */
export interface SessionTotals {
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  cost_usd: number;
}

export interface CliSession {
  id: string;
  /** The working folder of its runs. */
  cwd: string;
  totals: SessionTotals;
}

export interface UsageEvent {
  kind: 'usage';
  /** The task's model, as named in the pricing file. */
  model: string;
  /** Includes cached tokens (decisions 7.37). */
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** The provider reported nothing, or the call was interrupted: estimated at four characters per token. */
  usage_missing?: boolean;
  /** In USD, where the adapter reports it itself; else it is priced by the model's rates. */
  cost_usd?: number;
}

export type AdapterEvent =
  | { kind: 'output'; text: string }
  /**
   * What comes now is another message than the output so far. Only the last message with prose is the agent's answer;
   * verbs count in each.
   */
  | { kind: 'boundary' }
  | UsageEvent
  /** With the places that its programs were refused. */
  | { kind: 'log'; message: string; refused?: readonly RefusedPlace[] }
  /** A tool of the CLI's own: its call, or what it came to. */
  | { kind: 'tool'; name: string; [detail: string]: unknown }
  /** The session to go on from next time; null: forget the one that was given. */
  | { kind: 'session'; session: CliSession | null };
