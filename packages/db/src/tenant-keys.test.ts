/**
 * A company's data can be moved to a database of its own (docs/scaling.md): every row carries the company's id or belongs to
 * a row that does. Whoever adds a table that does neither must say, here and there, what happens to it then.
 */
import { describe, expect, it } from '@jest/globals';
import { PgTable, getTableConfig } from 'drizzle-orm/pg-core';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { schema } from '@acp/db';

/** Tables of the whole instance and its people: these stay in the directory. */
const ofInstance = [
  'alert_looks',
  'backups',
  'companies',
  'day_totals',
  'event_cursors',
  'event_sequence',
  'idempotency_keys',
  'instance_audit',
  'instance_flags',
  'instance_settings',
  'key_addresses',
  'login_failures',
  'oauth_flows',
  'outgoing_messages',
  'plugin_hosts',
  'scheduler_processes',
  'scheduler_ticks',
  'setup_tokens',
  'storage_orphans',
  'transcript_parts',
  'users',
  'workers',
];
/** Rows without a company belong to the instance. */
const ofEither = ['alerts', 'commands', 'events', 'outbox', 'security_events'];

interface Facts {
  name: string;
  company_id: 'always' | 'maybe' | 'never';
  /** Parent tables whose deletion cascades to it. */
  parents: string[];
}

const tables: Facts[] = Object.values(schema)
  .filter((each) => each instanceof PgTable)
  .map((table) => {
    const { name, columns, foreignKeys } = getTableConfig(table);
    const key = columns.find((column) => column.name === 'company_id');
    return {
      name,
      company_id: key === undefined ? 'never' : key.notNull ? 'always' : 'maybe',
      parents: foreignKeys
        .filter(({ onDelete }) => onDelete === 'cascade')
        .map((each) => getTableConfig(each.reference().foreignTable).name),
    };
  });
const byName = new Map(tables.map((facts) => [facts.name, facts]));

function hangsFrom(name: string, isRoot: (facts: Facts) => boolean): boolean {
  const facts = byName.get(name);
  if (facts === undefined) return false;
  return isRoot(facts) || facts.parents.some((parent) => parent !== name && hangsFrom(parent, isRoot));
}

const isCompanys = ({ name }: Facts): boolean => hangsFrom(name, (facts) => facts.company_id === 'always');
const isPersons = ({ name }: Facts): boolean => hangsFrom(name, (facts) => facts.name === 'users');

describe('every table', () => {
  it('is a company’s by its key or by the row that it is part of, a person’s, or known to be the instance’s', () => {
    const known = new Set([...ofInstance, ...ofEither]);
    const strange = tables.filter(
      (facts) => !known.has(facts.name) && !isCompanys(facts) && !isPersons(facts),
    );
    expect(strange.map(({ name }) => name)).toEqual([]);
    const gone = [...known].filter((name) => !byName.has(name));
    expect(gone).toEqual([]);
    expect(ofEither.map((name) => byName.get(name)!.company_id)).toEqual(ofEither.map(() => 'maybe'));
  });

  it('that is the instance’s has its place on the page about many databases', () => {
    const page = readFileSync(path.resolve(import.meta.dirname, '../../../docs/scaling.md'), 'utf8');
    expect([...ofInstance, ...ofEither].filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
  });
});
