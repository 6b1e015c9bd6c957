/** Where one can go, as data: a slice with a page of its own adds its line; tests/ui checks that the page exists. */
import type { CompanyRole, UserActor } from '@acp/contract';
import { isInstanceAdmin, roleIn } from '../../http/roles.ts';

export interface NavItem {
  label: string;
  path: string;
  /** How many things wait there; 0 shows none. */
  count?: number;
}

export interface NavGroup {
  /** The first group of a company has none: it is where people are most of the time. */
  label: string | null;
  items: readonly NavItem[];
}

interface Entry {
  label: string;
  /** Below the company's path. */
  path: string;
  /** Least role of the page where it is more than a viewer's. */
  role?: CompanyRole;
}

const companySections: readonly { label: string | null; entries: readonly Entry[] }[] = [
  {
    label: null,
    entries: [
      { label: 'Dashboard', path: '' },
      { label: 'Board', path: '/board' },
      { label: 'Agents', path: '/agents' },
      { label: 'Runs', path: '/runs' },
    ],
  },
  { label: 'Work', entries: [] },
  { label: 'Knowledge', entries: [] },
  {
    label: 'Company',
    entries: [
      { label: 'Members', path: '/members' },
      { label: 'Settings', path: '/settings', role: 'admin' },
    ],
  },
];

const instanceSection: NavGroup = {
  label: 'Instance',
  items: [
    { label: 'Users', path: '/admin/users' },
    { label: 'Health', path: '/admin/health' },
  ],
};

/** The sections of a company that the user may open. */
export function companyNav(user: UserActor, company_id: string): NavGroup[] {
  const base = `/companies/${company_id}`;
  const admin = roleIn(user, company_id) === 'admin';
  return companySections.map(({ label, entries }) => ({
    label,
    items: entries
      .filter(({ role }) => role !== 'admin' || admin)
      .map((entry) => ({ label: entry.label, path: base + entry.path })),
  }));
}

/** Outside of a company. */
export function instanceNav(user: UserActor): NavGroup[] {
  const own: NavGroup = {
    label: null,
    items: [
      { label: 'Companies', path: '/companies' },
      { label: 'Profile', path: '/profile' },
    ],
  };
  return isInstanceAdmin(user) ? [own, instanceSection] : [own];
}
