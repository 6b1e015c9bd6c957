/** Variables for plugins (specification, Sandbox; decisions 10.13). */
import { Type } from 'typebox';

export const pluginVariables = {
  SERVICE_PLUGIN_BINARY_ALLOWLIST: Type.Unsafe<string[]>({
    format: 'name-list',
    default: '',
    description:
      'Binaries that plugins may have: paths, or names of files in any folder; empty: any that an admin allows.',
  }),
  SERVICE_PLUGIN_SANDBOX: Type.Enum(['auto', 'container', 'bubblewrap', 'required', 'disabled'], {
    default: 'auto',
    description:
      'How plugins are shut in. auto: a container where an engine answers, else bubblewrap, else not at all; required: one of the two or no start.',
  }),
  SERVICE_PLUGIN_SANDBOX_IMAGE: Type.String({
    default: 'debian:stable-slim',
    description: 'Image of plugin containers: what a binary needs beside itself.',
  }),
  SERVICE_PLUGIN_WORKSPACE_ROOT: Type.Optional(
    Type.String({
      format: 'path',
      default_note: '/var/lib/service/plugins where it can be written, else plugins in SERVICE_HOME',
      description: 'Folder in which each plugin has one of its own that it may write.',
    }),
  ),
  SERVICE_PLUGIN_WORKSPACE_LIMIT: Type.Unsafe<number>({
    format: 'bytes',
    default: '1GB',
    description: 'What a plugin may keep in its folder; one that has more is ended.',
  }),
  SERVICE_PLUGIN_MEMORY_LIMIT: Type.String({
    format: 'memory-limit',
    default: '256m',
    description: 'Memory of a plugin, swap included.',
  }),
  SERVICE_PLUGIN_CPU_LIMIT: Type.Number({
    minimum: 0.01,
    maximum: 1024,
    default: 0.5,
    description: 'Processors of a plugin container.',
  }),
  SERVICE_PLUGIN_PIDS_LIMIT: Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 100,
    description: 'Processes of a plugin.',
  }),
  SERVICE_PLUGIN_CONTROL_GROUPS: Type.Enum(['auto', 'off'], {
    default: 'auto',
    description:
      'Whether plugins and local CLIs without a container are bounded by control groups of the kernel, where the scheduler may make some; else it watches what they take.',
  }),
  SERVICE_PLUGIN_SANDBOX_SECURITY_OPTS: Type.Unsafe<string[]>({
    format: 'name-list',
    default: '',
    description: 'Further --security-opt of plugin containers, such as seccomp=/etc/plugins.json.',
  }),
};
