import { GitError } from './git.ts';
import { type GitHost, type HostConfig, isPrivateKey, placeOfRepository } from './git-host.ts';
import { Github } from './github.ts';
import { Gitlab } from './gitlab.ts';
import type { Repository } from './repository-cache.ts';

/** Throws GitError for a server without pull requests, or without a token for it. */
export function hostOf(config: HostConfig, { repo_url, secret, list }: Repository): GitHost {
  const place = placeOfRepository(config, repo_url);
  if (place === undefined)
    throw new GitError(
      'the repository’s server is not known to have pull requests (SERVICE_REPOSITORY_APIS)',
      null,
    );
  const Host = place.provider === 'github' ? Github : Gitlab;
  return new Host(config, place, { secret, list });
}

/** Whether `hostOf` would succeed: the server is known and there is a token for it. */
export const hasPullRequests = (config: HostConfig, { repo_url, secret }: Repository): boolean =>
  placeOfRepository(config, repo_url) !== undefined && secret !== null && !isPrivateKey(secret);
