import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { buildSchema, getOperationAST, parse, validate } from 'graphql';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Codings } from '../../src/http/encoding/codings.ts';
import { encodeResponse } from '../../src/http/encoding/encode-response.ts';
import { createBuiltPages } from '../../src/http/pages/built-pages.ts';
import { graphiqlExamples } from '../support/graphiql-examples.ts';
import { builtPages, describeWith } from '../support/needs.ts';

const codings = new Codings();
const pages = createBuiltPages(codings);
const page = pages.document('graphiql');
const server = createServer((request, response) => {
  encodeResponse(response, codings.for(request));
  page(request, response);
});
let url = '';

beforeAll(async () => {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}/graphql`;
});
afterAll(() => server.close());

describeWith(builtPages, 'the GraphiQL page', () => {
  it('is sent packed to a caller that can unpack it, and as it is to others', async () => {
    const packed = await fetch(url);
    expect(packed.headers.get('content-encoding')).toBe('gzip');
    const plain = await fetch(url, { headers: { 'accept-encoding': 'identity' } });
    expect(plain.headers.get('content-encoding')).toBeNull();
    expect(await plain.text()).toBe(await packed.text());
  });

  it('is not sent again to a browser that has it', async () => {
    const etag = (await fetch(url, { method: 'HEAD' })).headers.get('etag') ?? '';
    const again = await fetch(url, { headers: { 'if-none-match': etag } });
    expect(again.status).toBe(304);
    expect(await again.text()).toBe('');
  });

  it('allows its own scripts, its own origin and nothing else', async () => {
    const csp = (await fetch(url, { method: 'HEAD' })).headers.get('content-security-policy') ?? '';
    expect(csp).toContain("default-src 'none'");
    expect(csp).toContain("script-src 'self';");
    expect(csp).not.toMatch(/https?:|blob:|\*|unsafe-eval|script-src[^;]*unsafe-inline/);
  });
});

describe('the examples', () => {
  it('fit the graph, each under a name of its own', () => {
    const schema = buildSchema(readFileSync('schema.graphql', 'utf8'));
    const names = graphiqlExamples.map((query) => {
      const document = parse(query);
      expect(validate(schema, document)).toEqual([]);
      return getOperationAST(document)?.name?.value;
    });
    expect(new Set(names).size).toBe(names.length);
  });
});
