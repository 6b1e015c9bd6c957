/** A command of the operator CLI: options, work, and an answer printed as a table or as JSON. */
import type { Database } from '@acp/db';
import { type Config, type Logger, printable } from '@acp/kernel';

/** Text for humans; `--json` prints the value. */
export interface Answer {
  text: string;
  value: unknown;
  /** Exit status 1 although the command itself worked: `doctor` with findings. */
  failed?: boolean;
}

export interface CommandContext {
  config: Config;
  logger: Logger;
  database: Database;
  direct_url: string;
  options: Readonly<Record<string, string | undefined>>;
}

export interface Command {
  /** `keys mint --company <id or slug> --role …`: shown in the help. */
  usage: string;
  doc: string;
  required?: readonly string[];
  optional?: readonly string[];
  /** Options without a value; if present, they read 'true'. */
  flags?: readonly string[];
  /** Runs even if the schema does not match: `db migrate`, `db status`, `doctor`. */
  any_schema?: boolean;
  run(context: CommandContext): Promise<Answer>;
}

/** An invalid command line: printed with the usage, exit status 2. */
export class UsageError extends Error {}

/** A required option; `main` has checked that it is present. */
export function option(context: CommandContext, name: string): string {
  const value = context.options[name];
  if (value === undefined) throw new UsageError(`--${name} is required`);
  return value;
}

/** Formats rows as aligned columns with a header. */
export function table(rows: readonly Record<string, unknown>[], columns: readonly string[]): string {
  const cells = [columns, ...rows.map((row) => columns.map((column) => cell(row[column])))];
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => line[index]!.length)));
  return cells
    .map((line) =>
      line
        .map((text, index) => text.padEnd(widths[index]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** In one line: names are chosen by tenants, and some of them by strangers (workers). */
function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (value instanceof Date) return value.toISOString();
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}
