/** Pull requests on GitHub, and on servers that implement its API (version 2022-11-28). */
import { Name, WebUrl } from '@acp/contract';
import type { PullRequestPlace, PullRequestState } from '@acp/core';
import { type Static, Type } from 'typebox';
import { GitError } from './git.ts';
import {
  type GitHost,
  HostApi,
  type HostAccess,
  type HostConfig,
  type MergeMethod,
  type NewPullRequest,
  PullNumber,
  Sha,
  tokenOf,
  unreadable,
} from './git-host.ts';

const Nullish = <T extends ReturnType<typeof Type.String>>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]));

/** Null: the fork it came from is gone. */
const Repo = Type.Optional(Type.Union([Type.Object({ id: Type.Integer() }), Type.Null()]));

/** The part of an answer that is read; it contains much more. */
const GithubPull = Type.Object({
  number: PullNumber,
  html_url: WebUrl,
  title: Name,
  state: Type.String(),
  merged_at: Nullish(Type.String()),
  head: Type.Object({ ref: Type.String(), sha: Sha, repo: Repo }),
  base: Type.Object({ repo: Repo }),
});
const GithubReviews = Type.Array(
  Type.Object({
    state: Type.String(),
    user: Type.Optional(Type.Union([Type.Object({ login: Type.String() }), Type.Null()])),
    author_association: Type.String(),
  }),
);
const GithubChecks = Type.Object({
  check_runs: Type.Array(Type.Object({ status: Type.String(), conclusion: Nullish(Type.String()) })),
});
const GithubMerge = Type.Object({ merged: Type.Boolean() });

type Pull = Static<typeof GithubPull>;
type Reviews = Static<typeof GithubReviews>;
type Checks = Static<typeof GithubChecks>;

export class Github implements GitHost {
  readonly place: PullRequestPlace;
  readonly #api: HostApi;
  readonly #path: string;
  readonly #owner: string;

  constructor(config: HostConfig, place: PullRequestPlace, { secret, list }: HostAccess) {
    this.place = place;
    const [owner = '', name = ''] = place.repository.split('/');
    if (name === '') throw new GitError('the URL of the repository names no owner and repository', null);
    this.#owner = owner;
    this.#path = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
    this.#api = new HostApi(
      config,
      { api_url: place.api_url, list },
      {
        authorization: `Bearer ${tokenOf(secret)}`,
        accept: 'application/vnd.github+json',
        'x-github-api-version': '2022-11-28',
        'user-agent': 'agent-control-plane',
      },
    );
  }

  async find(branch: string, signal: AbortSignal): Promise<PullRequestState | undefined> {
    const query = new URLSearchParams({ state: 'open', head: `${this.#owner}:${branch}` });
    const all = await this.#api.call(
      'GET',
      `${this.#path}/pulls?${query.toString()}`,
      Type.Array(GithubPull),
      signal,
    );
    // Servers that don't know the filter list all, and forks of the same owner pass it: anyone may name a branch as we do.
    const found = all.find(({ head, base }) => head.ref === branch && head.repo?.id === base.repo?.id);
    return found && this.#stateOf(found, signal);
  }

  async open(
    { title, body, branch, base, draft }: NewPullRequest,
    signal: AbortSignal,
  ): Promise<PullRequestState> {
    const wanted = { title, body, head: branch, base, draft };
    const made = await this.#api.call('POST', `${this.#path}/pulls`, GithubPull, signal, wanted);
    return this.#stateOf(made, signal);
  }

  async look(number: number, signal: AbortSignal): Promise<PullRequestState> {
    const pull = await this.#api.call('GET', `${this.#path}/pulls/${number}`, GithubPull, signal);
    if (pull.number !== number) throw unreadable();
    return this.#stateOf(pull, signal);
  }

  async merge(number: number, commit: string, method: MergeMethod, signal: AbortSignal): Promise<void> {
    const wanted = { sha: commit, merge_method: method };
    await this.#api.call('PUT', `${this.#path}/pulls/${number}/merge`, GithubMerge, signal, wanted);
  }

  async #stateOf(pull: Pull, signal: AbortSignal): Promise<PullRequestState> {
    const { number, html_url: url, title, head } = pull;
    const all_reviews = { schema: GithubReviews, itemsOf: (page: Reviews) => page };
    const reviews = await this.#api.all(`${this.#path}/pulls/${number}/reviews`, all_reviews, signal);
    // The token may not cover checks: that says nothing about the pull request.
    const all_checks = { schema: GithubChecks, itemsOf: ({ check_runs }: Checks) => check_runs };
    const checks = await this.#api
      .all(`${this.#path}/commits/${head.sha}/check-runs`, all_checks, signal)
      .catch(() => []);
    signal.throwIfAborted();
    return {
      number,
      url,
      title,
      state: pull.merged_at ? 'merged' : pull.state === 'open' ? 'open' : 'closed',
      review_state: reviewOf(reviews),
      health_status: healthOf(checks),
      head_commit: head.sha,
    };
  }
}

/** Anyone may review what is public: only people with a role in the repository can approve or block. */
const heard = new Set(['OWNER', 'MEMBER', 'COLLABORATOR']);

/** Uses each person's last decisive review. */
function reviewOf(reviews: Reviews): PullRequestState['review_state'] {
  const last = new Map<string, string>();
  for (const { user, state } of reviews.filter((review) => heard.has(review.author_association)))
    if (state === 'APPROVED' || state === 'CHANGES_REQUESTED' || state === 'DISMISSED')
      last.set(user?.login ?? '', state);
  const words = [...last.values()];
  if (words.includes('CHANGES_REQUESTED')) return 'changes_requested';
  return words.includes('APPROVED') ? 'approved' : 'pending';
}

function healthOf(runs: Checks['check_runs']): PullRequestState['health_status'] {
  if (runs.length === 0) return 'unknown';
  const good = new Set(['success', 'neutral', 'skipped']);
  if (runs.some(({ status, conclusion }) => status === 'completed' && !good.has(conclusion ?? '')))
    return 'failing';
  return runs.every(({ status }) => status === 'completed') ? 'healthy' : 'unknown';
}
