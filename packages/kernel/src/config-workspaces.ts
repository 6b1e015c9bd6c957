/** Variables for the workspaces in which agents' programs work on repositories (decisions 10.16). */
import { Type } from 'typebox';

export const workspaceVariables = {
  SERVICE_REPOSITORY_EGRESS: Type.Enum(['public', 'any'], {
    default: 'public',
    description:
      'Where repositories of projects may lie: on the public internet, or on private networks too.',
  }),
  SERVICE_REPOSITORY_HOSTS: Type.Unsafe<string[]>({
    format: 'name-list',
    default: '',
    description:
      'Hosts (name or name:port) of repositories that may have private addresses and be asked without TLS.',
  }),
  SERVICE_REPOSITORY_APIS: Type.Unsafe<string[]>({
    format: 'name-list',
    default: '',
    description:
      'Servers of one’s own that have pull requests: host=github|gitlab, or host=github|gitlab:<URL of the API>.',
  }),
  SERVICE_REPOSITORY_KNOWN_HOSTS: Type.Optional(
    Type.String({
      description:
        'A file of known_hosts: repositories by ssh are then reached at hosts with these keys alone. Unset: the key that a company’s first connection to a host is shown.',
    }),
  ),
  SERVICE_REPOSITORY_MAX_SIZE: Type.Unsafe<number>({
    format: 'bytes',
    default: '5GB',
    description: 'Largest pack that is fetched of a repository, or stored of a workspace.',
  }),
  SERVICE_WORKSPACE_MAX_SIZE: Type.Unsafe<number>({
    format: 'bytes',
    default: '20GB',
    description: 'Largest folder of an issue; in a larger one no further run begins.',
  }),
  SERVICE_WORKSPACE_MAX_CHANGE: Type.Unsafe<number>({
    format: 'bytes',
    default: '1GB',
    description:
      'What of the files that a run leaves new or changed is kept, in all; of more the largest are left out.',
  }),
  SERVICE_WORKSPACE_MIN_FREE: Type.Unsafe<number>({
    format: 'bytes',
    default: '1GB',
    description:
      'With less free space on the disk of SERVICE_HOME no workspace is made, no file is stored there, and the run that fills it is ended.',
  }),
  SERVICE_PROJECT_COMMANDS: Type.Enum(['on', 'off'], {
    default: 'on',
    description:
      'Whether set-up and check commands of projects are run, within the walls of the agents’ programs.',
  }),
};
