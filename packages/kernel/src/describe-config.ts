import { configSchema } from './config-schema.ts';
import { type Environment, environmentText } from './config.ts';
import { keywords } from './config-read.ts';

/** Formats whose values may contain a secret or identify a person, although no secret is expected. */
const HIDDEN_FORMATS = new Set(['command', 'mcp-commands', 'email', 'email-list', 'mailbox', 'header-list']);

interface DescribedVariable {
  name: string;
  /** The value as given; null: set, but not shown. */
  value: string | null;
}

/** Lists the variables that an environment sets, by default this process's, without revealing secrets. */
export function describeConfig(env?: Environment): DescribedVariable[] {
  return Object.entries(configSchema.properties).flatMap(([name, schema]) => {
    const value = environmentText(name, env);
    if (value === undefined) return [];
    const { secret, format } = keywords(schema);
    const hidden = secret === true || (format !== undefined && HIDDEN_FORMATS.has(format));
    return [{ name, value: hidden ? null : value }];
  });
}
