import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { dropTree, loadConfig, newId } from '@acp/kernel';
import { type GitServer, startGitServer, needsBubblewrap } from '@acp/testkit';
import { type Captured, capture } from './capture.ts';
import { changesBetween } from './changes.ts';
import { HeldFolder } from '../programs/held-folder.ts';
import { RepositoryCache } from './repository-cache.ts';
import { checkOut, type WorkspaceFolder } from './workspace-folder.ts';

/** An agent's folder is never inspected without a sandbox. */
const withBubblewrap = await needsBubblewrap(describe);

const run = promisify(execFile);
const { signal } = new AbortController();
const identity = { name: 'Ada', email: 'ada@example.com' };
const env = {
  PATH: process.env.PATH,
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
};

let folder: string;
let cache: string;
let base: string;

beforeAll(async () => {
  folder = await mkdtemp('/var/tmp/hostile-folders-');
  cache = path.join(folder, 'cache.git');
  const made = await shell(
    folder,
    `git init -q --bare cache.git; git init -q work; cd work; echo one > a.txt; mkdir src; echo two > src/b.txt
     git add -A; git commit -qm Beginning; git push -q ../cache.git HEAD:refs/remotes/origin/main; git rev-parse HEAD`,
  );
  base = made.trim();
});
afterAll(async () => {
  for (const name of await readdir(folder)) await dropTree(folder, name);
  await rm(folder, { recursive: true, force: true });
});

async function shell(cwd: string, script: string): Promise<string> {
  return (await run('bash', ['-euc', script], { cwd, env: { ...env, FOLDER: folder } })).stdout;
}

/** Returns the folder of an issue after an agent's program has run `script` in it. */
async function leave(script: string): Promise<WorkspaceFolder> {
  const place = path.join(folder, newId());
  const of = { folder: place, tree: path.join(place, 'tree') };
  const checkout = { repository: cache, branch: 'T-1', base: { branch: 'main', commit: base }, head: base };
  await checkOut(of, { ...checkout, work: base, repo_url: 'https://x.example/y', identifier: 'T-1' }, signal);
  await shell(of.tree, script);
  return of;
}

interface Looked extends Captured {
  /** Everything changed since the start, by name. */
  changed: Record<string, string | null>;
}

async function look(
  place: WorkspaceFolder,
  settings: Record<string, string> = {},
  size_sec?: number,
): Promise<Looked> {
  const held = await HeldFolder.open(place.tree);
  await held.close();
  const captured = await capture(
    loadConfig({ SERVICE_HOME: path.join(folder, 'home'), ...settings }),
    { ...place, identity: held.identity },
    {
      repository: cache,
      workspace_id: path.basename(place.folder),
      kind: 'repository',
      base_commit: base,
      head_commit: null,
      commit: true,
      message: 'T-1: what it left',
      author: identity,
    },
    { run_id: newId(), as_host: false, signal, size_sec },
  );
  const { files } = await changesBetween(cache, base, captured.work!, signal);
  return { ...captured, changed: Object.fromEntries(files.map((file) => [file.path, file.patch])) };
}
const lookAfter = async (script: string): Promise<Looked> => look(await leave(script));
const log = async (commit: string | null) =>
  (await shell(cache, `git log --format=%s ${commit ?? ''}`)).trim().split('\n');

/** Leaves a trace wherever it is run: in the folder, also from inside the sandbox, and next to it. */
const EVIL = `printf '#!/bin/sh\\ntouch "$TREE/ran" %s/ran\\ncat\\n' "$FOLDER" > evil.sh; chmod +x evil.sh\n`;

withBubblewrap('a folder whose repository names programs', () => {
  it('has none of them run, not even within the walls, and all of its files and commits are seen', async () => {
    const keys =
      'core.fsmonitor core.sshCommand core.pager core.editor core.gitProxy core.askPass core.alternateRefsCommand ' +
      'diff.external diff.x.textconv diff.x.command filter.x.clean filter.x.smudge filter.x.process merge.x.driver ' +
      'gpg.program credential.helper uploadpack.packObjectsHook remote.origin.vcs trace2.eventTarget';
    const place = await leave(`${EVIL}
      echo more >> a.txt; git commit -qam Mine
      for key in ${keys}; do git config --file .git/more "$key" "$PWD/evil.sh"; done
      printf '[commit]\\n\\tgpgSign = true\\n[filter "x"]\\n\\trequired = true\\n' >> .git/more
      printf '[include]\\n\\tpath = more\\n[includeIf "gitdir:/"]\\n\\tpath = more\\n[core]\\n\\thooksPath = %s/hooks\\n' "$PWD" >> .git/config
      printf '[core]\\n\\tworktree = /\\n' >> .git/config
      mkdir hooks
      for hook in reference-transaction post-index-change pre-commit post-commit pre-push fsmonitor-watchman pre-auto-gc
      do cp evil.sh hooks/$hook; cp evil.sh .git/hooks/$hook; done
      printf '* filter=x diff=x merge=x\\n' > .gitattributes
      echo x > x.txt`);
    const seen = await look(place);
    expect(await readdir(place.tree)).not.toContain('ran');
    expect(await readdir(folder)).not.toContain('ran');
    expect(seen.changed).toMatchObject({
      'x.txt': '@@ -0,0 +1 @@\n+x\n',
      'a.txt': '@@ -1 +1,2 @@\n one\n+more\n',
    });
    expect(await log(seen.head)).toEqual(['T-1: what it left', 'Mine', 'Beginning']);
    expect(seen).toMatchObject({ own_repository: 'read', nested: [] });
    expect(seen.head).toBe(seen.work);
    // The next run starts on it.
    const at = await shell(place.tree, 'cat .git/refs/heads/T-1');
    expect(at.trim()).toBe(seen.head);
  });

  it('is told by what its commits are, whatever replaces, hides or locks them, on a branch named like an option', async () => {
    const seen = await lookAfter(`
      echo real > real.txt; git add -A; git commit -qm Real
      echo fake > real.txt; git add -A; fake=$(git commit-tree -m Fake "$(git write-tree)")
      git reset -q --hard; git replace HEAD "$fake"; git rev-parse HEAD > .git/shallow
      git update-ref 'refs/heads/--upload-pack=x' HEAD; git symbolic-ref HEAD 'refs/heads/--upload-pack=x'
      echo $'name\\nwith "all" \\t$(touch ran) \\xff' > $'odd\\n"\\t$(touch ran)\\xff'
      ln -s /etc/passwd link; ln -s . self; mkfifo pipe; ln -s pipe /tmp/x-$$ && mv /tmp/x-$$ to-pipe
      truncate -s 5G sparse; truncate -s 51M $'large\\nb'; echo b > b
      mkdir -p deep && cd deep && mkdir -p $(printf 'dd/%.0s' $(seq 1000)) && cd $(printf 'dd/%.0s' $(seq 1000))
      mkdir -p $(printf 'dd/%.0s' $(seq 600)); cd "$OLDPWD/.."
      touch .git/index.lock .git/HEAD.lock .git/refs/heads/--upload-pack=x.lock`);
    expect(await log(seen.head)).toEqual(['T-1: what it left', 'Real', 'Beginning']);
    expect(seen.changed).toMatchObject({
      'real.txt': '@@ -0,0 +1 @@\n+real\n',
      b: '@@ -0,0 +1 @@\n+b\n',
      link: '@@ -0,0 +1 @@\n+/etc/passwd\n\\ No newline at end of file\n',
    });
    expect(Object.keys(seen.changed)).not.toContain('sparse');
    expect(seen.too_large).toEqual(expect.arrayContaining(['sparse']));
    expect(Object.keys(seen.changed)).toHaveLength(6);
  });
});

withBubblewrap('a folder whose repository can’t be read', () => {
  it.each([
    ['is a link', 'mv .git elsewhere; ln -s elsewhere .git; echo elsewhere > .gitignore'],
    ['is a line that leads elsewhere', 'rm -rf .git; echo "gitdir: $FOLDER/work/.git" > .git'],
    ['waits for ever', 'rm .git/HEAD; mkfifo .git/HEAD'],
    ['has no end', 'ln -sf /dev/zero .git/index'],
    [
      'goes round in circles',
      'echo ref: refs/heads/x > .git/HEAD; echo ref: refs/heads/x > .git/refs/heads/x',
    ],
    ['has lost what it stands for', 'rm -f .git/objects/??/*'],
    [
      'counts by other hashes',
      'rm -rf .git; git init -q --object-format=sha256; git add -A; git commit -qm Other',
    ],
    ['leads out of the folder', 'rm -rf .git/objects; ln -s "$FOLDER/work/.git/objects" .git/objects'],
  ])('because it %s, is told by its files', async (_, script) => {
    const begun = Date.now();
    const seen = await lookAfter(
      `echo kept > kept.txt; git add -A; git commit -qm Mine; rm src/b.txt; ${script}`,
    );
    expect(seen.changed).toMatchObject({
      'kept.txt': '@@ -0,0 +1 @@\n+kept\n',
      'src/b.txt': '@@ -1 +0,0 @@\n-two\n',
    });
    expect(seen.own_repository).toBe('broken');
    expect(await log(seen.head)).toEqual(['T-1: what it left', 'Beginning']);
    expect(Date.now() - begun).toBeLessThan(40_000);
  });
});

withBubblewrap('a folder that git would stumble over', () => {
  it('is seen without the pipes that git would read for ever', async () => {
    const { changed, own_repository } = await lookAfter(
      'mkdir -p x/.git; mkfifo .gitignore .gitattributes .gitmodules src/.gitignore other; echo one > x/1; echo new > 2',
    );
    expect(own_repository).toBe('read');
    expect(Object.keys(changed).toSorted()).toEqual(['2', 'x/1']);
  });

  it('is seen in spite of a broken index, files that are not as their attributes say, and objects that lean on themselves', async () => {
    const seen = await lookAfter(
      `echo '*.txt working-tree-encoding=UTF-16' > .gitattributes; echo x > x.txt; git update-index --split-index
       echo broken >> .git/index; echo "$PWD/.git/objects" > .git/objects/info/alternates`,
    );
    expect(seen).toMatchObject({ own_repository: 'read', changed: { 'x.txt': '@@ -0,0 +1 @@\n+x\n' } });
  });

  it('has the files of repositories within it, but for ignored ones, submodules and other branches’ folders', async () => {
    const seen = await lookAfter(`
      mkdir -p app/deep ignored 'two words'; echo ignored > .gitignore
      for each in app app/deep ignored 'two words'; do git init -q "$each"; echo x > "$each/x.txt"; done
      echo node_modules > app/.gitignore; mkdir app/node_modules; echo n > app/node_modules/n.js
      git -C app add -A 2> /dev/null || git -C app add x.txt; git -C app commit -qm App
      git worktree add -q linked
      git init -q module; echo m > module/m.txt; git -C module add -A; git -C module commit -qm M
      printf '[submodule "m"]\\n\\tpath = module\\n\\turl = ../m\\n' > .gitmodules
      git add app 2> /dev/null; git commit -qm 'A name alone'`);
    expect(Object.keys(seen.changed).toSorted()).toEqual([
      '.gitignore',
      '.gitmodules',
      'app/.gitignore',
      'app/deep/x.txt',
      'app/x.txt',
      'module',
      'two words/x.txt',
    ]);
    expect(seen.nested).toEqual(['linked']);
  });

  it('says which repositories within it are left out if there are too many, or their names break a line', async () => {
    const seen = await lookAfter(`
      for n in $(seq -w 60) $'odd\nname'; do mkdir "r$n"; cd "r$n"; git init -q; echo x > x.txt; git add -A
      git commit -qm Own; cd ..; done`);
    const kept = Object.entries(seen.changed);
    expect(kept.every(([name, patch]) => name.endsWith('/x.txt') && patch === '@@ -0,0 +1 @@\n+x\n')).toBe(
      true,
    );
    expect(kept).toHaveLength(50);
    expect(seen.nested).toHaveLength(11);
    expect(seen.nested).toContain('rodd\nname');
  });
});

withBubblewrap('a folder with commits that other people’s git would suffer from', () => {
  const tree = (name: string) =>
    `t=$(printf '100644 blob %s\\tconfig\\n' $(git rev-parse HEAD:a.txt) | git mktree)
     t=$(printf '040000 tree %s\\t%b\\n' $t '${name}' | git mktree)
     git update-ref HEAD $(git commit-tree -m Evil -p HEAD $t)`;
  it.each([
    ['.git in capitals', tree('.GIT'), /hasDotgit/],
    ['.git with a letter that is not seen', tree('.g\\0342\\0200\\0214it'), /hasDotgit/],
    ['.git by its short name', tree('git~1'), /hasDotgit/],
    [
      'a submodule that is a command',
      `printf '[submodule "x"]\\n\\tpath = x\\n\\turl = ext::sh -c id\\n\\tupdate = !id\\n' > .gitmodules`,
      /gitmodulesUpdate/,
    ],
  ])('is refused: %s', async (_, script, reason) => {
    await expect(lookAfter(script)).rejects.toThrow(reason);
  });

  it('is refused with more large files than can be told one by one', async () => {
    const many = lookAfter('mkdir many; cd many; truncate -s 51M $(seq 1001)');
    await expect(many).rejects.toThrow('more than 1000 files are too large');
  });
});

it('a folder deeper than any name can say is removed', async () => {
  const place = path.join(folder, newId());
  await mkdir(place);
  await shell(
    place,
    'for n in 1 2; do d=$(printf "dd/%.0s" $(seq 690)); mkdir -p $d; cd $d; done; ln -s "$FOLDER" x',
  );
  await dropTree(folder, path.basename(place));
  expect(await readdir(folder)).not.toContain(path.basename(place));
  expect((await readdir(folder)).filter((name) => name.startsWith('dropped-'))).toEqual([]);
  expect(await readdir(folder)).toContain('work');
});

withBubblewrap('a folder with files of all kinds', () => {
  it.each([
    ['a carriage return', '\r'],
    ['a separator of lines', '\u2028'],
    ['a separator of paragraphs', '\u2029'],
  ])('shows the change of each under its own name, though one pretends to end after %s', async (_, end) => {
    const { changed } = await lookAfter(
      `printf 'x${end}diff --git a/x b/x${end}@@ -1 +1 @@${end}+fine\\n' > 1; echo wrong > 2`,
    );
    expect(changed['2']).toBe('@@ -0,0 +1 @@\n+wrong\n');
    expect(changed['1']).toMatch(/^@@ -0,0 \+1 @@\n\+x[^]*\+fine\n$/);
  });

  it('shows the changes of each under its own name, however many of them are no text', async () => {
    const seen = await lookAfter(`
      for n in 1 3 5; do echo text $n > $n.txt; printf 'x\\0%s' $n > $n.bin; done
      printf 'x\\0' > $'4\\xff.bin'; ln -s 1.txt 2.link; mv a.txt 6.txt; truncate -s 49M 0.bin`);
    const { changed } = seen;
    for (const n of [1, 3, 5]) {
      expect(changed[`${n}.txt`]).toBe(`@@ -0,0 +1 @@\n+text ${n}\n`);
      expect(changed[`${n}.bin`]).toBeNull();
    }
    expect(changed['2.link']).toContain('+1.txt');
    expect(Object.keys(changed)).toEqual(expect.arrayContaining(['0.bin', '6.txt', '4\uFFFD.bin']));
  });
});

withBubblewrap('a folder with more than a commit takes', () => {
  it('keeps small files first, over repositories within it too, and says what is left out', async () => {
    const place = await leave(`
      echo '*.log' > .gitignore; truncate -s 60M ignored.log; git init -q app; echo small > app/small
      for n in 1 2 3; do truncate -s 3M $n.bin "app/$n &|.bin"; done; printf x > $'odd\\nname'; truncate -s 51M large`);
    const seen = await look(place, { SERVICE_WORKSPACE_MAX_CHANGE: '10MB' });
    expect(Object.keys(seen.changed).toSorted()).toEqual([
      '.gitignore',
      '1.bin',
      '2.bin',
      '3.bin',
      'app/small',
      'odd\nname',
    ]);
    expect(seen.too_large.toSorted()).toEqual(['app/1 &|.bin', 'app/2 &|.bin', 'app/3 &|.bin', 'large']);
    expect(seen.too_large_count).toBe(4);
  });

  it('leaves a large file out, whatever is in its name', async () => {
    const names = ['a\u0001b', '\u0001', 'c\nd', 'e\n', '\n', 'f g', 'sub/\u0001', 'sub/h'];
    const seen = await lookAfter(`
      mkdir sub; echo x > sub/small; truncate -s 51M $'a\x01b' $'\x01' $'c\nd' $'e\n' $'\n' 'f g' $'sub/\x01' sub/h`);
    expect(Object.keys(seen.changed)).toEqual(['sub/small']);
    expect(seen.too_large_count).toBe(names.length);
    expect(seen.too_large).toEqual(
      expect.arrayContaining(['a\u0001b', '\u0001', 'f g', 'sub/\u0001', 'sub/h']),
    );
  });

  it('has not removed a large file of its commits, though it says no more what it has', async () => {
    const seen = await lookAfter(
      'truncate -s 51M big; git add -A; git commit -qm Big; echo x > x.txt; rm .git/index',
    );
    expect(Object.keys(seen.changed)).toEqual(['big', 'x.txt']);
    expect(seen.too_large).toEqual([]);
  });

  it('whose commits are more than that is told by its files', async () => {
    const place = await leave(
      'head -c 3M /dev/urandom > big; git add -A; git commit -qm Big; echo x > x.txt',
    );
    const seen = await look(place, { SERVICE_WORKSPACE_MAX_CHANGE: '1MB' });
    expect(seen).toMatchObject({ own_repository: 'too large', too_large: ['big'] });
    expect(Object.keys(seen.changed)).toEqual(['x.txt']);
    expect(await log(seen.head)).toEqual(['T-1: what it left', 'Beginning']);
  });
});

withBubblewrap('the size of a folder', () => {
  it('is that of its files on the disk, those with several names once; of too many files it is said that there are more', async () => {
    const place = await leave(
      'head -c 3M /dev/urandom > one; ln one again; truncate -s 1G holes; seq 3000 | xargs touch',
    );
    const [whole, part] = [await look(place), await look(place, {}, 0.000_001)];
    expect(whole.is_larger).toBe(false);
    expect(whole.size_bytes).toBeGreaterThan(3 * 2 ** 20);
    expect(whole.size_bytes).toBeLessThan(6 * 2 ** 20);
    expect(part.is_larger).toBe(true);
    expect(part.size_bytes).toBeLessThan(whole.size_bytes);
  });
});

describe('a server that means no good', () => {
  let server: GitServer;
  beforeEach(async () => {
    server = await startGitServer({ 'a.txt': 'one\n' });
  });
  afterEach(async () => server.close());

  const fetched = async () => {
    const config = loadConfig({
      SERVICE_HOME: await mkdtemp(path.join(folder, 'home-')),
      SERVICE_REPOSITORY_HOSTS: server.host,
    });
    const copies = new RepositoryCache(config);
    const repository = { company_id: newId(), repo_url: server.url, secret: null, list: null };
    const fetch = async () => copies.fetched(repository, { max_age_ms: 0, tolerant: false, signal });
    return { copies, fetch, copy: copies.folderOf(repository) };
  };

  it('that calls a branch its own whose name is no name has none, and what a fetch left half-written goes', async () => {
    await server.git('update-ref', 'refs/heads/x"]fsmonitor=id', 'main');
    await server.git('symbolic-ref', 'HEAD', 'refs/heads/x"]fsmonitor=id');
    const { copies, fetch, copy } = await fetched();
    await fetch();
    await expect(copies.baseOf(copy, null, signal)).rejects.toThrow('has no default branch');
    expect(await copies.baseOf(copy, 'main', signal)).toMatchObject({ branch: 'main' });
    const [old, young] = ['tmp_pack_old', 'tmp_pack_young'].map((name) =>
      path.join(copy, 'objects/pack', name),
    );
    await Promise.all([old, young].map(async (file) => writeFile(file!, 'half')));
    await utimes(old!, 0, 0);
    await fetch();
    const left = await readdir(path.dirname(old!));
    expect(left.filter((name) => name.startsWith('tmp_'))).toEqual(['tmp_pack_young']);
  });

  it('with a tree that lays a .git where other people check it out is not fetched; with an old date it is', async () => {
    const { fetch } = await fetched();
    const blob = await server.git('rev-parse', 'main:a.txt');
    const made = async (script: string) => (await shell(server.folder, script)).trim();
    const commit = await made('git commit-tree -m Old main^{tree} | cat');
    const old = await made(
      `git cat-file commit ${commit} | sed 's/[+-]0000$/+051800/' | git hash-object -t commit -w --stdin --literally`,
    );
    await server.git('update-ref', 'refs/heads/old', old);
    await fetch();
    const evil = await made(
      `t=$(printf '100644 blob ${blob}\\tconfig\\n' | git mktree)
       git commit-tree -m Evil $(printf '040000 tree %s\\t.Git\\n' $t | git mktree)`,
    );
    await server.git('update-ref', 'refs/heads/evil', evil);
    await expect(fetch()).rejects.toThrow('hasDotgit');
  });
});
