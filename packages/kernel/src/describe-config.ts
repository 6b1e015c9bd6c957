import { configSchema } from './config-schema.ts';
import { type Environment, environmentText } from './config.ts';
import { keywords } from './config-read.ts';

/** Values that may hold a secret although none is expected in them, or that say who somebody is. */
const HIDDEN_FORMATS = new Set(['command', 'mcp-commands', 'email', 'email-list', 'mailbox', 'header-list']);

export interface DescribedVariable {
  name: string;
  /** As it was given; null: it is set, and not shown. */
  value: string | null;
}

/** Which variables an environment, by default this process's, sets, for somebody who must not learn its secrets. */
export function describeConfig(env?: Environment): DescribedVariable[] {
  return Object.entries(configSchema.properties).flatMap(([name, schema]) => {
    const value = environmentText(name, env);
    if (value === undefined) return [];
    const { secret, format } = keywords(schema);
    const hidden = secret === true || (format !== undefined && HIDDEN_FORMATS.has(format));
    return [{ name, value: hidden ? null : value }];
  });
}
