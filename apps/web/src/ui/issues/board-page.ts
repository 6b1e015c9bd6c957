import type { BoardColumn, BoardFilter } from '@acp/core';
import { words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { type Choice, emptyState, input, select } from '../kit/parts.ts';
import { card } from './card.ts';

interface BoardView {
  company_id: string;
  columns: readonly BoardColumn[];
  filter: BoardFilter;
  agents: readonly Choice[];
  projects: readonly Choice[];
  labels: readonly Choice[];
}

export function boardActions(company_id: string): Html {
  return html`<a class="button" href="/companies/${company_id}/issues/new">New issue</a>`;
}

export function boardBody(view: BoardView): Html {
  const { company_id, columns } = view;
  const empty = columns.every((column) => column.count === 0);
  const filtered = Object.values(view.filter).some(Boolean);
  return html`!${filterForm(view)}
    !${when(empty && !filtered, () =>
      emptyState(
        'No issues yet',
        html`<a href="/companies/${company_id}/issues/new">Write the first one</a> and give it to an agent: it
          starts at once.`,
      ),
    )}
    <p class="sr-only" id="board-help">
      Arrow keys go from card to card. Shift with left or right moves a card to the next column. Enter opens
      it.
    </p>
    <p class="sr-only" role="status" aria-live="polite" id="board-said"></p>
    <div
      class="board"
      data-board="${company_id}"
      data-filter="${queryOf(view.filter)}"
      aria-describedby="board-help"
    >
      !${each(columns, boardColumn)}
    </div>`;
}

function boardColumn({ status, count, cards }: BoardColumn): Html {
  const hidden = count - cards.length;
  return html`<section class="board-column" data-column="${status}" aria-label="${words(status)}">
    <h2>${words(status)} <span class="soft" data-count>${count}</span></h2>
    <div class="cards">!${each(cards, card)}</div>
    !${when(hidden > 0 && hidden, (n) => html`<p class="soft small">and ${n} older</p>`)}
  </section>`;
}

/** The choice that filters nothing. */
const any = (label: string): Choice => ({ value: '', label });

function filterForm({ company_id, filter, agents, projects, labels }: BoardView): Html {
  return html`<form
    class="filters row"
    method="get"
    action="/companies/${company_id}/board"
    role="search"
    data-autosubmit
  >
    !${input({ name: 'q', label: 'Text', type: 'search', value: filter.q ?? '' })}
    !${select({ name: 'assignee', label: 'Assignee', value: filter.assignee_agent_id ?? '', choices: [any('anybody'), ...agents] })}
    !${select({ name: 'project', label: 'Project', value: filter.project_id ?? '', choices: [any('any'), ...projects] })}
    !${select({ name: 'label', label: 'Label', value: filter.label_id ?? '', choices: [any('any'), ...labels] })}
    <button class="quiet">Filter</button>
  </form>`;
}

/** The filter as the board's address has it; the script asks for single cards with the same one. */
function queryOf({ q, assignee_agent_id, project_id, label_id }: BoardFilter): string {
  const given = { q, assignee: assignee_agent_id, project: project_id, label: label_id };
  const pairs = Object.entries(given).flatMap(([name, value]) =>
    value ? [[name, value] as [string, string]] : [],
  );
  return new URLSearchParams(pairs).toString();
}
