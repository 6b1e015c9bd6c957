/** The vendor families of the specification, by neutral name (section Provider). */
export type ProviderFamily =
  'family_chat_a' | 'family_chat_b' | 'family_search' | 'family_compat' | 'family_cloud';

export interface ProviderSpec {
  family: ProviderFamily;
  /** For `family_cloud` the JSON credentials blob. */
  api_key: string | null;
  /** Null: the vendor's own. Required for `family_compat`. */
  base_url: string | null;
  custom_headers?: Record<string, string>;
  /** The guarded fetch of the kernel; the platform's unless told. */
  fetch?: typeof fetch;
}

export interface AdapterTask {
  run_id: string;
  adapter_type: string;
  provider: ProviderSpec | null;
  model: string;
  system_prompt: string;
  messages: { role: 'user' | 'assistant'; content: string }[];
  max_output_tokens: number;
  /** Without a byte from the provider, and in all, retries included. */
  timeouts: { idle_sec: number; total_sec: number };
  adapter_config: unknown;
}

export interface UsageEvent {
  kind: 'usage';
  /** The model of the task: what the pricing file names. */
  model: string;
  /** Cached ones included (decisions 7.37). */
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  /** The provider reported none, or the call broke off: the numbers are an estimate of four characters a token. */
  usage_missing?: boolean;
}

export type AdapterEvent = { kind: 'output'; text: string } | UsageEvent | { kind: 'log'; message: string };
