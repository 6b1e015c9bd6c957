/** A comment in the conversation on an issue. */
import type { Comment, UserActor } from '@acp/contract';
import { mayChangeComment, type OutlinedComment } from '@acp/core';
import { foldedText } from '../kit/folded-text.ts';
import { timeAgo, words } from '../kit/format.ts';
import { attributes, each, html, type Html, when } from '../kit/html.ts';
import { t } from '../kit/language.ts';
import { markdown } from '../kit/markdown.ts';
import { avatar, postButton } from '../kit/parts.ts';

interface EntryView {
  issue_id: string;
  company_id: string;
  user: UserActor;
  /** Agent names by id. */
  agents: ReadonlyMap<string, string>;
  can_write: boolean;
}

type ReactionName = Comment['reactions'][number]['reaction'];

const signs: Record<ReactionName, string> = {
  thumbs_up: '👍',
  thumbs_down: '👎',
  laugh: '😄',
  hooray: '🎉',
  confused: '😕',
  heart: '❤️',
  rocket: '🚀',
  eyes: '👀',
};

export function commentEntry(comment: OutlinedComment, view: EntryView): Html {
  const { id } = comment;
  const name = comment.author_agent_id
    ? (view.agents.get(comment.author_agent_id) ?? t`an agent`)
    : (comment.author_user_name ?? t`somebody`);
  const path = `/issues/${view.issue_id}/comments/${id}`;
  const text = comment.body_markdown;
  return html`<li class="comment" id="comment-${id}" !${comment.is_pinned ? ' data-pinned' : ''}>
    !${avatar(name)}
    <div class="comment-body">
      <div class="comment-head">
        <strong>${name}</strong>
        <a class="soft small" href="#comment-${id}" title="Link to this comment"
          >!${timeAgo(comment.created_at)}</a
        >
        !${when(comment.edited_at, () => html`<a class="soft small" href="${path}/versions">edited</a>`)}
        !${when(comment.is_pinned, () => html`<span class="status">pinned</span>`)}
        <span class="grow"></span>
        !${when(view.can_write, () => commentActs(comment, path, view))}
      </div>
      <div data-comment-text>!${text === null ? foldedText(path, comment.length) : markdown(text, path)}</div>
      !${reactionsPart(comment, path, view)}
    </div>
  </li>`;
}

function commentActs(comment: OutlinedComment, path: string, { user, company_id }: EntryView): Html {
  const pin = postButton(`${path}/pin`, comment.is_pinned ? 'Unpin' : 'Pin', { class: 'link small' });
  const own = mayChangeComment(user, comment, company_id);
  return html`<button type="button" class="link small" data-quote data-script-only>Quote</button>
    !${pin}!${when(
      own,
      () =>
        html`<a class="small" href="${path}/edit" data-edit-comment>Edit</a>
          !${postButton(`${path}/delete`, 'Delete', { class: 'link small', confirm: 'Delete this comment permanently?' })}`,
    )}`;
}

/** Reactions and who gave them; a click adds or removes one's own. */
function reactionsPart({ reactions }: OutlinedComment, path: string, view: EntryView): Html {
  const { user, can_write } = view;
  if (reactions.length === 0 && !can_write) return '';
  const button = (reaction: ReactionName, count: number, mine: boolean): Html => {
    const label = `${words(reaction)}${count > 0 ? `, ${count}` : ''}`;
    return html`<form
      method="post"
      action="${path}/reactions/${reaction}${mine ? '/remove' : ''}"
      class="inline"
      data-quiet
    >
      <button
        class="reaction"
        aria-label="${label}"
        !${attributes({ 'aria-pressed': String(mine), disabled: !can_write })}
      >
        <span aria-hidden="true">!${signs[reaction]}</span>!${when(count, (n) => html` ${n}`)}
      </button>
    </form>`;
  };
  const given = each(reactions, ({ reaction, actor_ids }) =>
    button(reaction, actor_ids.length, actor_ids.includes(user.user_id)),
  );
  const rest = Object.keys(signs).filter((sign) => !reactions.some(({ reaction }) => reaction === sign));
  return html`<div class="reactions">
    !${given}!${when(
      can_write && rest.length > 0,
      () =>
        html`<details class="react" data-menu>
          <summary aria-label="React">☺</summary>
          <div>!${each(rest as ReactionName[], (sign) => button(sign, 0, false))}</div>
        </details>`,
    )}
  </div>`;
}
