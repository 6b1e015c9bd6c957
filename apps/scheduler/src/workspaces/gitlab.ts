/** Merge requests of GitLab (API version 4). */
import { Name, WebUrl } from '@acp/contract';
import type { PullRequestPlace, PullRequestState } from '@acp/core';
import { type Static, Type } from 'typebox';
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

const MergeRequest = Type.Object({
  iid: PullNumber,
  web_url: WebUrl,
  title: Name,
  state: Type.String(),
  sha: Type.Union([Sha, Type.Null()]),
  source_branch: Type.String(),
  /** Null: the fork it came from is gone. */
  source_project_id: Type.Union([Type.Integer(), Type.Null()]),
  target_project_id: Type.Integer(),
  detailed_merge_status: Type.Optional(Type.String()),
  head_pipeline: Type.Optional(Type.Union([Type.Object({ status: Type.String() }), Type.Null()])),
});
const Approvals = Type.Object({
  // Not every edition reports both.
  approved: Type.Optional(Type.Boolean()),
  approvals_left: Type.Optional(Type.Integer()),
  approved_by: Type.Optional(Type.Array(Type.Unknown())),
});

export class Gitlab implements GitHost {
  readonly place: PullRequestPlace;
  readonly #api: HostApi;
  readonly #path: string;

  constructor(config: HostConfig, place: PullRequestPlace, { secret, list }: HostAccess) {
    this.place = place;
    this.#path = `/projects/${encodeURIComponent(place.repository)}/merge_requests`;
    this.#api = new HostApi(config, { api_url: place.api_url, list }, { 'private-token': tokenOf(secret) });
  }

  async find(branch: string, signal: AbortSignal): Promise<PullRequestState | undefined> {
    const query = new URLSearchParams({ state: 'opened', source_branch: branch });
    const list = `${this.#path}?${query.toString()}`;
    const requests = this.#api.list(
      list,
      { schema: Type.Array(MergeRequest), itemsOf: (page) => page },
      signal,
    );
    for await (const { iid, source_branch, source_project_id, target_project_id } of requests)
      // Forks are listed too, and anyone may name a branch there as we do.
      if (source_branch === branch && source_project_id === target_project_id) return this.look(iid, signal);
    return undefined;
  }

  async open(
    { title, body, branch, base, draft }: NewPullRequest,
    signal: AbortSignal,
  ): Promise<PullRequestState> {
    const wanted = {
      title: draft ? `Draft: ${title}` : title,
      description: body,
      source_branch: branch,
      target_branch: base,
    };
    return this.#stateOf(await this.#api.call('POST', this.#path, MergeRequest, signal, wanted), signal);
  }

  async look(number: number, signal: AbortSignal): Promise<PullRequestState> {
    const found = await this.#api.call('GET', `${this.#path}/${number}`, MergeRequest, signal);
    if (found.iid !== number) throw unreadable();
    return this.#stateOf(found, signal);
  }

  async merge(number: number, commit: string, method: MergeMethod, signal: AbortSignal): Promise<void> {
    // Whether it is rebased is a setting of the GitLab project.
    const wanted = { sha: commit, squash: method === 'squash' };
    await this.#api.call('PUT', `${this.#path}/${number}/merge`, MergeRequest, signal, wanted);
  }

  async #stateOf(request: Static<typeof MergeRequest>, signal: AbortSignal): Promise<PullRequestState> {
    const { iid, web_url: url, title, state, sha, detailed_merge_status, head_pipeline } = request;
    const approvals = await this.#api
      .call('GET', `${this.#path}/${iid}/approvals`, Approvals, signal)
      .catch(() => null);
    signal.throwIfAborted();
    const enough = approvals?.approved ?? approvals?.approvals_left === 0;
    // If no approval is required, some servers report it as approved from the start.
    const approved = enough && (approvals?.approved_by ?? []).length > 0;
    const asked = detailed_merge_status === 'requested_changes';
    return {
      number: iid,
      url,
      title,
      state: state === 'merged' ? 'merged' : state === 'opened' || state === 'locked' ? 'open' : 'closed',
      review_state: asked ? 'changes_requested' : approved ? 'approved' : 'pending',
      health_status: healths[head_pipeline?.status ?? ''] ?? 'unknown',
      head_commit: sha,
    };
  }
}

const healths: Record<string, PullRequestState['health_status']> = {
  success: 'healthy',
  failed: 'failing',
  canceled: 'failing',
};
