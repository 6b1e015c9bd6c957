/** The result of an import or its preview. */
import { bundleLists, type ImportedCompany } from '@acp/contract';
import { count, words } from '../kit/format.ts';
import { each, html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { table } from '../kit/table.ts';

/** Even in a merge of thousands, the first ones show what it is. */
const MOST_SHOWN = 100;

export function importOutcome({ created, skipped, warnings }: ImportedCompany, preview: boolean): Html {
  const made = bundleLists.filter((list) => created[list] > 0);
  return html`<section class="card" aria-label="${preview ? t`Preview` : t`Result`}">
    <h2>${preview ? t`This would be created` : t`This was created`}</h2>
    !${when(preview, () => html`<p>Nothing is changed yet.</p>`)}
    !${
      made.length === 0
        ? html`<p class="soft">Nothing: the company already has all of it.</p>`
        : table(
            'What is created',
            [
              { label: 'What', cell: (list) => html`${words(list)}` },
              { label: 'How many', kind: 'number', cell: (list) => html`${count(created[list])}` },
            ],
            made,
            { narrow: true },
          )
    }
    !${when(
      warnings.length > 0,
      () =>
        html`<h3>To know</h3>
          <ul>
            !${each(warnings, (text) => html`<li>${text}</li>`)}
          </ul>`,
    )}
    !${when(
      skipped.length > 0,
      () =>
        html`<details>
          <summary>${count(skipped.length)} left as they are</summary>
          <ul>
            !${each(skipped.slice(0, MOST_SHOWN), ({ type, name }) => html`<li>${words(type)}: ${name}</li>`)}
          </ul>
          !${when(skipped.length > MOST_SHOWN, () => html`<p class="soft">And ${count(skipped.length - MOST_SHOWN)} more.</p>`)}
        </details>`,
    )}
  </section>`;
}
