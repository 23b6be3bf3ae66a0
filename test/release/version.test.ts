import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Scratch } from './scratch.ts';

/** The changelog as it is right after a release. */
const RELEASED = readFileSync('CHANGELOG.md', 'utf8').replace(
  /\n## Unreleased\n[\s\S]*?(?=\n## )/,
  '',
);

describe('npm version', () => {
  let scratch: Scratch;
  beforeEach(() => {
    scratch = new Scratch();
    scratch.take(
      '.npmrc',
      'client/README.md',
      'client/package.json',
      'examples/dashboard/package-lock.json',
      'package-lock.json',
      'package.json',
      'scripts/changelog.js',
      'scripts/set-version.js',
    );
    scratch.write('CHANGELOG.md', RELEASED);
    scratch.git('init', '--quiet');
    scratch.commit();
  });
  afterEach(() => scratch.remove());

  it('changes nothing while there is nothing to release', () => {
    for (const note of ['', '\n## Unreleased\n\n']) {
      scratch.write('CHANGELOG.md', RELEASED.replace('\n## ', `${note}\n## `));
      if (note) scratch.commit();
      const { status, output } = scratch.run('npm', 'version', 'minor');
      expect(status).toBe(1);
      expect(output).toContain('CHANGELOG.md says nothing under "## Unreleased"');
      expect(scratch.git('status', '--porcelain')).toBe('');
      expect(scratch.git('tag')).toBe('');
    }
  });

  it('gives gateway, client, their locks and the notes one version, in one commit with a tag', () => {
    const unreleased = '\n## Unreleased\n\n- Something is faster.\n\n## ';
    scratch.write('CHANGELOG.md', RELEASED.replace('\n## ', unreleased));
    scratch.commit();
    const { status, output } = scratch.run('npm', 'version', '7.8.9');
    expect(status, output).toBe(0);
    const manifests = ['package.json', 'package-lock.json', 'client/package.json'];
    for (const path of manifests) expect(scratch.json(path)['version'], path).toBe('7.8.9');
    const { packages } = scratch.json('examples/dashboard/package-lock.json');
    expect(packages).toMatchObject({ '../../client': { version: '7.8.9' } });
    expect(scratch.read('client/README.md')).toContain('links-market-client-7.8.9.tgz');
    const notes = scratch.read('CHANGELOG.md');
    expect(notes).toContain('\n## 7.8.9\n\n- Something is faster.\n');
    expect(notes).not.toContain('Unreleased');
    expect(scratch.git('status', '--porcelain')).toBe('');
    expect(scratch.git('log', '-1', '--format=%s')).toBe('Release 7.8.9');
    // An annotated one: it says who has made it, and when.
    expect(scratch.git('cat-file', '-t', 'v7.8.9')).toBe('tag');
    expect(scratch.git('rev-parse', 'v7.8.9^{commit}')).toBe(scratch.git('rev-parse', 'HEAD'));
    // But for the version, each file is as it was.
    const changed = scratch.git('diff', '--numstat', 'HEAD^').split('\n');
    expect(changed.filter((line) => !/^[12]\t[12]\t/.test(line))).toEqual([]);
  });
});
