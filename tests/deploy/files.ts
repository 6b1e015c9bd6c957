/** The files of deploy/, parsed the way the programs that run them do. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { parse, parseAllDocuments } from 'yaml';

export const root = path.resolve(import.meta.dirname, '../..');

export type Environment = Record<string, string>;

export const readText = (file: string): string => readFileSync(path.join(root, file), 'utf8');

/** Parses one document, with merge keys resolved as compose does. */
export const readYaml = (file: string): unknown => parse(readText(file), { merge: true });

export function readDocuments<T>(file: string): T[] {
  return [...parseAllDocuments(readText(file))].map((document) => {
    if (document.errors[0]) throw document.errors[0];
    return document.toJS() as T;
  });
}

/** Variables an operator must set for compose.yaml; the rest have defaults. */
export const operator: Environment = {
  POSTGRES_PASSWORD: '0123456789abcdef0123456789abcdef',
  SERVICE_ENCRYPTION_KEY: '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff',
};

/** Supports `${NAME}`, `${NAME:-default}` and `${NAME:?what is missing}`. */
export function interpolate(text: string, env: Environment): string {
  return text.replaceAll(
    /\$\{([A-Z_]+)(?::([-?])([^}]*))?\}/g,
    (_all, name: string, kind: string | undefined, rest = '') => {
      const value = env[name] ?? '';
      if (value !== '') return value;
      if (kind === '-') return rest;
      throw new Error(`${name} is not given: ${rest}`);
    },
  );
}

export interface ComposeService {
  image: string;
  environment?: Environment;
  networks?: string[] | Record<string, { ipv4_address?: string }>;
  [key: string]: unknown;
}

export interface ComposeFile {
  services: Record<string, ComposeService>;
  networks: Record<string, { ipam: { config: { subnet: string; gateway: string; ip_range: string }[] } }>;
  volumes: Record<string, unknown>;
  [key: string]: unknown;
}

const COMPOSE = 'deploy/compose.yaml';

/** Values are interpolated as compose does: after parsing, so that an empty one is a text. */
export const readCompose = (env: Environment = operator): ComposeFile =>
  parse(
    readText(COMPOSE),
    (_key, value: unknown) => (typeof value === 'string' ? interpolate(value, env) : value),
    { merge: true },
  ) as ComposeFile;

// Comments may mention variables too.
const withoutComments = (text: string): string => text.replaceAll(/^\s*#.*$/gm, '');

export interface Instruction {
  name: string;
  /** With continuation lines joined. */
  text: string;
  /** Name or image of the stage it belongs to. */
  stage: string;
}

/** Instructions of the Dockerfile in order. */
export function readDockerfile(file = 'deploy/container/Dockerfile'): Instruction[] {
  const text = withoutComments(readText(file)).replaceAll(/\\\n/g, ' ');
  let stage = '';
  return text
    .split('\n')
    .map((line) => /^([A-Z]+)\s+(.*)$/.exec(line.trim()))
    .filter((match) => match !== null)
    .map(([, name = '', rest = '']) => {
      const instruction = rest.replaceAll(/\s+/g, ' ');
      if (name === 'FROM') stage = instruction.split(' ').at(-1)!;
      return { name, text: instruction, stage };
    });
}

/** The environment the image gives its process, with the defaults of the build arguments. */
export function imageEnvironment(instructions: readonly Instruction[]): Environment {
  const defaults: Environment = {};
  const env: Environment = {};
  for (const { name, text } of instructions) {
    const [key = '', value = ''] = text.split(/=(.*)/s);
    if (name === 'ARG') defaults[key] = value;
    if (name !== 'ENV') continue;
    for (const [, variable = '', given = ''] of text.matchAll(/([A-Z_]+)=(\S+)/g)) {
      env[variable] = given.replaceAll(/\$([A-Z_]+)/g, (_all, arg: string) => defaults[arg] ?? '');
    }
  }
  return env;
}

/** A unit file's directives, with the values of repeated ones in order. */
export function readUnit(file: string): Map<string, string[]> {
  const directives = new Map<string, string[]>();
  for (const line of withoutComments(readText(file)).split('\n')) {
    const [, key, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? [];
    if (key !== undefined) directives.set(key, [...(directives.get(key) ?? []), value ?? '']);
  }
  return directives;
}

/** Parses `NAME=value` lines or words, as in unit and environment files. */
export function assignments(text: string, separator: RegExp): Environment {
  return Object.fromEntries(
    withoutComments(text)
      .split(separator)
      .filter((each) => each !== '')
      .map((each) => each.split(/=(.*)/s).slice(0, 2)),
  ) as Environment;
}

export function filesBelow(folder: string): string[] {
  return readdirSync(path.join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.[a-z]+$/.test(name))
    .map((name) => path.join(folder, name));
}

export const findProgram = (name: string): string | undefined =>
  ['/usr/sbin', '/usr/bin', '/usr/local/bin', '/usr/local/sbin', '/sbin', '/bin']
    .map((folder) => path.join(folder, name))
    .find((file) => existsSync(file));
