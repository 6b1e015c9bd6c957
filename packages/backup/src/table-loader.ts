import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type { BackupTrailer } from '@acp/contract';
import { invalid } from '@acp/kernel';
import type { Client } from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { listTables, quoted } from './tables.ts';

/** Statements that create partitions for restored rows. `made_by` is missing in backups older than partitions. */
const rooms: Readonly<Record<string, { made_by: string; statement: string }>> = {
  events: {
    made_by: 'make_room_for_events(bigint)',
    statement: 'select make_room_for_events(last) from event_sequence',
  },
  run_events: { made_by: 'make_transcript_parts()', statement: 'select make_transcript_parts()' },
};

/** Runs one COPY per table, so that rows may refer to later rows of their own table. */
export class TableLoader {
  readonly #client: Client;
  readonly #trailer: BackupTrailer;
  #current: { table: string; copy: Writable; done: Promise<void> } | undefined;

  constructor(client: Client, trailer: BackupTrailer) {
    this.#client = client;
    this.#trailer = trailer;
  }

  /** Removes rows inserted by migrations, and disables triggers, whose effects are already in the backup. */
  async prepare(): Promise<void> {
    const names = this.#trailer.tables.map(({ name }) => name);
    const there = new Set((await listTables(this.#client)).map(({ name }) => name));
    const unknown = names.filter((name) => !there.has(name));
    if (unknown.length > 0) throw invalid(`the backup has unknown tables: ${unknown.join(', ')}`);
    await this.#client.query(`truncate ${names.map(quoted).join(', ')}`);
    for (const name of names) await this.#client.query(`alter table ${quoted(name)} disable trigger user`);
  }

  /** @param table null: there are no more rows */
  async add(table: string | null, piece: Buffer): Promise<void> {
    if (this.#current !== undefined && this.#current.table !== table) {
      this.#current.copy.end();
      await this.#current.done;
      this.#current = undefined;
    }
    if (table === null) return;
    if (this.#current === undefined) await this.#makeRoom(table);
    this.#current ??= this.#begin(table);
    const { copy, done } = this.#current;
    if (!copy.write(piece)) await Promise.race([once(copy, 'drain'), done]);
  }

  async finish(): Promise<void> {
    for (const { name } of this.#trailer.tables)
      await this.#client.query(`alter table ${quoted(name)} enable trigger user`);
    for (const { name, last_value } of this.#trailer.sequences)
      if (last_value !== null)
        await this.#client.query('select setval($1::regclass, $2::bigint)', [quoted(name), last_value]);
  }

  /** Creates partitions beyond those of a new instance. The table that says how many has already been restored. */
  async #makeRoom(table: string): Promise<void> {
    const of = rooms[table];
    if (of === undefined) return;
    const { rows } = await this.#client.query<{ there: boolean }>(
      'select to_regprocedure($1) is not null as there',
      [of.made_by],
    );
    if (rows[0]?.there === true) await this.#client.query(of.statement);
  }

  #begin(table: string): { table: string; copy: Writable; done: Promise<void> } {
    const found = this.#trailer.tables.find(({ name }) => name === table);
    if (found === undefined) throw invalid('the backup is damaged');
    const columns = found.columns.map(quoted).join(', ');
    const copy = this.#client.query(copyFrom(`copy ${quoted(table)} (${columns}) from stdin`));
    const done = finished(copy);
    done.catch(() => undefined);
    return { table, copy, done };
  }
}
