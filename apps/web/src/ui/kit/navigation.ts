/** The navigation as data: a slice with a page of its own adds its line; tests/ui checks that the page exists. */
import type { CompanyRole, UserActor } from '@acp/contract';
import { isInstanceAdmin, roleIn } from '../../http/roles.ts';
import { say, t } from './language.ts';

export interface NavItem {
  label: string;
  path: string;
  /** Number of waiting items; refreshed from `source` on events about the topic. */
  count?: {
    value: number;
    topic: string;
    source: string;
  };
}

export interface NavGroup {
  /** Null for a company's first group, where people are most of the time. */
  label: string | null;
  /** Of a group that is folded until somebody needs it: what a browser remembers it by. */
  fold?: string;
  items: readonly NavItem[];
}

interface Entry {
  label: string;
  /** Relative to the company's path. */
  path: string;
  /** The page's least role if it is more than viewer. */
  role?: CompanyRole;
  /** A number that refreshes itself: which one, the topics of its events, and the part of the page that returns it. */
  live?: { of: string; topic: string; part: string };
}

/** What is needed every day is in sight; what is set up once is folded. */
const companySections: readonly { label: string | null; fold?: string; entries: readonly Entry[] }[] = [
  {
    label: null,
    entries: [
      { label: 'Dashboard', path: '' },
      { label: 'Board', path: '/board' },
      { label: 'Issues', path: '/issues' },
      { label: 'Agents', path: '/agents' },
      { label: 'Chats', path: '/chats' },
      { label: 'Runs', path: '/runs' },
      {
        label: 'Approvals',
        path: '/approvals',
        live: { of: 'approvals', topic: 'approvals inbox_changed', part: 'pending' },
      },
    ],
  },
  {
    label: 'Work',
    entries: [
      { label: 'Projects', path: '/projects' },
      { label: 'Goals', path: '/goals' },
      { label: 'Routines', path: '/routines' },
    ],
  },
  {
    label: 'Company',
    entries: [
      { label: 'Costs', path: '/costs' },
      { label: 'Members', path: '/members' },
      { label: 'Activity', path: '/activity' },
      { label: 'Alerts', path: '/alerts', role: 'admin' },
      { label: 'Settings', path: '/settings', role: 'admin' },
    ],
  },
  {
    label: 'Knowledge',
    fold: 'knowledge',
    entries: [
      { label: 'Search', path: '/knowledge' },
      { label: 'Compiled index', path: '/knowledge/index' },
      { label: 'Notes', path: '/notes' },
      { label: 'Skills', path: '/skills' },
    ],
  },
  {
    label: 'Integrations',
    fold: 'integrations',
    entries: [
      { label: 'Model providers', path: '/providers', role: 'admin' },
      { label: 'Secrets', path: '/secrets', role: 'admin' },
      { label: 'Network access', path: '/egress', role: 'admin' },
      { label: 'Slack and Telegram', path: '/channels', role: 'admin' },
      { label: 'Connect by MCP', path: '/connect' },
      { label: 'Peers', path: '/peers', role: 'admin' },
      { label: 'Webhooks', path: '/webhooks', role: 'admin' },
      { label: 'Plugins', path: '/plugins' },
    ],
  },
];

const instanceItems: readonly NavItem[] = [
  { label: 'Users', path: '/admin/users' },
  { label: 'Security', path: '/admin/security' },
  { label: 'Workers', path: '/admin/workers' },
  { label: 'Alerts', path: '/admin/alerts' },
  { label: 'Health', path: '/admin/health' },
  { label: 'Backups', path: '/admin/backups' },
  { label: 'Plugins', path: '/admin/plugins' },
  { label: 'Settings', path: '/admin/settings' },
  { label: 'License', path: '/admin/license' },
  { label: 'Trash', path: '/admin/trash' },
];

/** Number of waiting items, by what they are. */
export type Counts = Readonly<Record<string, number>>;

/** The company's sections that the user may open. */
export function companyNav(user: UserActor, company_id: string, counts: Counts = {}): NavGroup[] {
  const base = `/companies/${company_id}`;
  const admin = roleIn(user, company_id) === 'admin';
  return companySections.map(({ label, fold, entries }) => ({
    label: label && say(label),
    ...(fold !== undefined && { fold }),
    items: entries
      .filter(({ role }) => role !== 'admin' || admin)
      .map((entry) => itemOf(entry, base, counts)),
  }));
}

function itemOf({ label, path, live }: Entry, base: string, counts: Counts): NavItem {
  const item = { label: say(label), path: base + path };
  if (!live) return item;
  const source = `${item.path}/part/${live.part}`;
  return { ...item, count: { value: counts[live.of] ?? 0, topic: live.topic, source } };
}

/** Navigation outside of a company. */
export function instanceNav(user: UserActor): NavGroup[] {
  const own: NavGroup = {
    label: null,
    items: [
      { label: t`Companies`, path: '/companies' },
      { label: t`Profile`, path: '/profile' },
    ],
  };
  if (!isInstanceAdmin(user)) return [own];
  const items = instanceItems.map(({ label, path }) => ({ label: say(label), path }));
  return [own, { label: t`Instance`, items }];
}
