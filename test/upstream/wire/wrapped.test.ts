import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bareJson } from '../../../src/upstream/wire/verdict.ts';
import { FailureStage } from '../../graph/failure/failure-stage.ts';
import { upload } from '../../support/uploads.ts';

const stage = new FailureStage();
const PATH = '/var/www/html/app/api.php';

type Rewrite = (text: string) => string | Buffer;

/** Lets each endpoint do its work, and changes the bytes of its answer. */
function rewriting(
  rewrite: Rewrite,
  {
    api = 'links',
    headers = {},
    status,
  }: { api?: 'links' | 'market'; headers?: Record<string, string>; status?: number } = {},
): void {
  stage.sandbox[api].fault({
    kind: 'answer',
    rewrite: (answer) => ({
      status: status ?? answer.status,
      headers: { ...headers },
      body: rewrite(JSON.stringify(answer.body)),
    }),
  });
}

const notice = `<br />\n<b>Notice</b>:  Undefined index: {$x} \${y} in <b>${PATH}</b> on line <b>7</b><br />\n`;
const wrappings: readonly (readonly [string, Rewrite])[] = [
  ['a notice of PHP', (text) => `${notice}${text}`],
  [
    'notices of PHP as text',
    (text) =>
      `\nWarning: foo() in ${PATH} on line 3\n\nDeprecated: x in ${PATH} on line 9\n${text}`,
  ],
  ['a byte order mark', (text) => `\uFEFF${text}`],
  ['two byte order marks', (text) => `\uFEFF\uFEFF${text}`],
  ['a comment after it', (text) => `${text}\n<!-- 0.02 s ${PATH} -->\n`],
  ['all of them', (text) => `\uFEFF${notice}${notice}${text}<!-- a --> <!-- b -->`],
];

describe('JSON with other text around it', () => {
  it.each(wrappings)('is used: %s', async (_, rewrite) => {
    const lines: string[] = [];
    const { ask, gateway } = await stage.start({ PORT: '0', LOG_LEVEL: 'info' }, undefined, {
      log: { write: (line) => lines.push(line) },
    });
    const { url } = await gateway.listen();
    rewriting(rewrite);
    rewriting(rewrite, { api: 'market' });
    const answers = [
      await ask('{ channels(first: 2) { nodes { name } } seller { email } }'),
      await ask('{ channel(id: 1) { name } item(id: 204117) { name } }'),
      await ask(
        'mutation { result: createChannel(input: { name: "x" }) { __typename ... on Channel { name } } }',
      ),
      await ask(
        'mutation { result: deleteChannel(id: 999999) { __typename ... on Rejected { message } } }',
      ),
      await ask('{ channels(first: 2) { nodes { name } } }'),
    ];
    for (const { errors, text } of answers) {
      expect(errors, text).toEqual([]);
      expect(text).not.toContain(PATH);
    }
    expect(answers[2]?.data).toEqual({ result: { __typename: 'Channel', name: 'x' } });
    expect(answers[3]?.text).toContain('Rejected');
    expect((await upload(url, '/files/a.txt', 'bytes')).status).toBe(201);
    const log = lines.join('');
    expect(log).not.toContain(PATH);
    const warned = lines.filter((line) => line.includes('around the JSON of channels'));
    expect(warned).toHaveLength(1);
    expect(await (await fetch(`${url}/metrics`)).text()).not.toContain(PATH);
  });

  it.each([
    ['a page', '<!doctype html><html><body>\n{"error":0,"id":7}'],
    ['a script', '<script>\n{"error":0,"id":7}'],
    ['a page that goes on', '<br>\n{"error":0,"id":7}</html>'],
    ['a sentence', 'Cannot read {"error":0,"id":7}'],
    ['JSON before it', '{"error":1,"message":"x"}\n{"error":0,"id":7}'],
    ['an open comment', '{"error":0,"id":7} -->'],
    ['nothing behind it', 'Notice: x\n{"error":0,"id":'],
  ])('is no answer in the form of %s', async (_, body) => {
    const { ask } = await stage.start();
    rewriting(() => body);
    const { errors } = await ask(
      'mutation { createPixel(input: { type: GTM, name: "x", tag: "GTM-1" }) { __typename } }',
    );
    expect(errors[0]?.extensions?.code).toBe('OUTCOME_UNKNOWN');
  });

  it('is no answer with the status 500', async () => {
    const { ask } = await stage.start();
    rewriting((text) => `Fatal error: x\n${text}`, { status: 500 });
    const { errors } = await ask('mutation { deletePixel(id: 27) { __typename } }');
    expect(errors[0]?.extensions?.code).toBe('OUTCOME_UNKNOWN');
  });

  it.each(['{', '{"', '\n{"a":', '<!--', '-->', '<!---->', '{ ', '>'])(
    'is looked for once in a megabyte of %j',
    (piece) => {
      const text = piece.repeat(1_000_000 / piece.length);
      for (const garbage of [text, `${text}}`, `x\n${text}}`, `${text}-->`]) {
        expect(bareJson(garbage)).toBeNull();
      }
    },
  );
});

describe('A compressed response', () => {
  const formats: readonly (readonly [string, (text: string) => Buffer])[] = [
    ['gzip', (text) => gzipSync(text)],
    ['x-gzip', (text) => gzipSync(text)],
    ['GZIP', (text) => gzipSync(text)],
    ['br', (text) => brotliCompressSync(text)],
    ['deflate', (text) => deflateSync(text)],
    ['deflate', (text) => deflateRawSync(text)],
    ['gzip, br', (text) => brotliCompressSync(gzipSync(text))],
    ['identity', (text) => Buffer.from(text)],
    // The header is wrong.
    ['gzip', (text) => Buffer.from(text)],
  ];

  it.each(formats)('is unpacked: %s', async (encoding, pack) => {
    const { ask, gateway } = await stage.start({ PORT: '0' });
    const { url } = await gateway.listen();
    for (const api of ['links', 'market'] as const) {
      rewriting(pack, { api, headers: { 'content-encoding': encoding } });
    }
    const { errors } = await ask('{ channels(first: 2) { nodes { name } } seller { email } }');
    expect(errors).toEqual([]);
    expect((await upload(url, '/files/a.txt', 'bytes')).status).toBe(201);
    const write = 'mutation { result: deletePixel(id: 999999) { __typename } }';
    expect((await ask(write)).data).toEqual({ result: { __typename: 'Rejected' } });
    expect(stage.sandbox.links.requests[0]?.headers['accept-encoding']).toBe('identity');
  });

  it('is unpacked if it is a refusal', async () => {
    const { ask } = await stage.start({}, 'links');
    const body = gzipSync('{"error":1,"message":"Slow down","retry_after":50}');
    const headers = { 'content-encoding': 'gzip' };
    stage.sandbox.links.fault({ kind: 'answer', rewrite: () => ({ status: 429, headers, body }) });
    const { errors } = await ask('{ account { id } }', {}, { prefer: 'wait=1' });
    const retryAfterMs = Number(errors[0]?.extensions?.['retryAfterMs']);
    expect(errors[0]?.extensions?.code).toBe('BUDGET_EXHAUSTED');
    expect(retryAfterMs).toBeLessThanOrEqual(50_000);
    expect(retryAfterMs).toBeGreaterThan(40_000);
  });

  it('is refused if it is larger than allowed', async () => {
    const { ask } = await stage.start({}, 'links');
    const bomb = gzipSync(Buffer.alloc(65 * 1024 * 1024, ' '));
    for (const [encoding, body] of [
      ['gzip', bomb],
      ['gzip, gzip', gzipSync(bomb)],
    ] as const) {
      rewriting(() => body, { headers: { 'content-encoding': encoding } });
      const { errors } = await ask('{ account { id } }');
      expect(errors[0]?.extensions?.code).toBe('UPSTREAM_INVALID_RESPONSE');
    }
  });
});
