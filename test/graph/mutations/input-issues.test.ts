import { isEnumType } from 'graphql';
import { beforeAll, describe, expect, it } from 'vitest';
import { schema } from '../../../src/schema.ts';
import { type Door, openDoor } from '../../support/door.ts';
import type { Row } from '../../support/gateway.ts';

let door: Door;
beforeAll(async () => {
  door = await openDoor({ AUTH_MODE: 'none', uploadInlineMaxBytes: '100' });
});

/** A mutation that is refused for one member, and what a form learns of it. */
interface Case {
  readonly code: string;
  readonly params?: Row;
  /** Dotted, as forms name their members. */
  readonly member: string;
  readonly mutation: string;
}

const wifi = '{ ssid: "Guests" }';
const cases: readonly Case[] = [
  {
    code: 'REQUIRED',
    member: 'input.data.fields.ssid',
    mutation: 'createQrCode(input: { type: WIFI, data: { fields: { password: "x" } } })',
  },
  {
    code: 'REQUIRED_ANY_OF',
    params: { members: ['email', 'password'] },
    member: 'input',
    mutation: 'updateAccount(input: {})',
  },
  {
    code: 'REQUIRED_ANY_OF',
    params: { members: ['name', 'description', 'color', 'starred'] },
    member: 'input',
    mutation: 'updateChannel(input: { id: 1 })',
  },
  {
    code: 'BLANK',
    member: 'input.name',
    mutation: 'createPixel(input: { type: GA, name: " ", tag: "G-1" })',
  },
  {
    code: 'EMPTY',
    member: 'input.data.fields',
    mutation: 'createQrCode(input: { type: VCARD, data: { fields: {} } })',
  },
  {
    code: 'TOO_SHORT',
    params: { min: 5 },
    member: 'input.password',
    mutation: 'updateAccount(input: { password: "1234" })',
  },
  {
    code: 'TOO_SHORT',
    params: { min: 3 },
    member: 'input.username',
    mutation: 'createUser(input: { username: "ab", email: "a@b.co", password: "12345" })',
  },
  {
    code: 'OUT_OF_RANGE',
    params: { min: 1 },
    member: 'linkId',
    mutation: 'assignLinkToCampaign(campaignId: 1, linkId: 0)',
  },
  {
    code: 'NOT_IN_FUTURE',
    member: 'input.expiration',
    mutation:
      'subscribeUser(input: { userId: 12, planId: 1, type: MONTHLY, expiration: "1999-01-01T00:00:00Z" })',
  },
  {
    code: 'INVALID_ID',
    params: { type: 'Pixel' },
    member: 'id',
    mutation: 'deletePixel(id: "Q2hhbm5lbDo3")',
  },
  {
    code: 'INVALID_CHARACTERS',
    params: { signs: '-_' },
    member: 'input.slug',
    mutation: 'createCampaign(input: { slug: "no spaces" })',
  },
  {
    code: 'INVALID_CHARACTERS',
    params: { signs: '.-_' },
    member: 'input.username',
    mutation: 'createUser(input: { username: "a b c", email: "a@b.co", password: "12345" })',
  },
  {
    code: 'INVALID_EMAIL',
    member: 'input.email',
    mutation: 'updateAccount(input: { email: "nobody" })',
  },
  {
    code: 'INVALID_URL',
    member: 'input.redirectRoot',
    mutation: 'updateDomain(input: { id: 1, redirectRoot: "ftp://example.com" })',
  },
  {
    code: 'INVALID_DOMAIN',
    member: 'input.domain',
    mutation: 'createDomain(input: { domain: "https://example.com/path" })',
  },
  {
    code: 'INVALID_COLOR',
    params: { format: '#RRGGBB' },
    member: 'input.color',
    mutation: 'createChannel(input: { name: "Shop", color: "red" })',
  },
  {
    code: 'INVALID_COLOR',
    params: { format: 'rgb(r,g,b)' },
    member: 'input.background',
    mutation: `createQrCode(input: { type: WIFI, data: { fields: ${wifi} }, background: "#FFF" })`,
  },
  {
    code: 'INVALID_PICTURE',
    params: { formats: ['png', 'jpg'] },
    member: 'input.logo',
    mutation: `createQrCode(input: { type: WIFI, data: { fields: ${wifi} }, logo: "logo.gif" })`,
  },
  {
    code: 'INVALID_PHONE',
    member: 'input.data.value',
    mutation: 'createQrCode(input: { type: PHONE, data: { value: "call me" } })',
  },
  {
    code: 'NOT_FOR_TYPE',
    params: { type: 'WIFI', members: ['fields'] },
    member: 'input.data.value',
    mutation: 'createQrCode(input: { type: WIFI, data: { value: "Guests" } })',
  },
];

/** The same for a file: the name and the options of `PUT /files/:filename`. */
const uploads: readonly (Case & { readonly body?: string })[] = [
  { code: 'EMPTY', member: 'file', mutation: 'a.txt', body: '' },
  {
    code: 'TOO_LONG',
    params: { maxBytes: 255 },
    member: 'filename',
    mutation: `${'a'.repeat(300)}.txt`,
  },
  { code: 'INVALID_FILENAME', member: 'filename', mutation: 'noextension' },
  { code: 'INVALID_FILENAME', member: 'filename', mutation: 'a%2Fb.txt' },
  { code: 'INVALID_DATE', member: 'expiry', mutation: 'a.txt?expiry=2026-02-30' },
  {
    code: 'OUT_OF_RANGE',
    params: { min: 1 },
    member: 'maxDownloads',
    mutation: 'a.txt?maxDownloads=0',
  },
  {
    code: 'UNKNOWN_OPTION',
    params: { options: ['name', 'custom', 'domain', 'password', 'expiry', 'maxDownloads'] },
    member: 'pasword',
    mutation: 'a.txt?pasword=x',
  },
  { code: 'REPEATED_OPTION', member: 'name', mutation: 'a.txt?name=a&name=b' },
];

const large = { code: 'TOO_LARGE', params: { maxBytes: 100 }, path: ['input', 'file'] };

describe('An issue of an input', () => {
  it.each(cases)(
    'is $code at $member, with $params',
    async ({ code, params = {}, member, mutation }) => {
      const { data, errors } = await door.ask(
        `mutation { result: ${mutation} { ... on InvalidInput { issues { path code params message } } } }`,
      );
      expect(errors).toEqual([]);
      expect(data?.['result']).toEqual({
        issues: [{ path: member.split('.'), code, params, message: expect.stringMatching(/\.$/) }],
      });
    },
  );

  it.each(uploads)(
    'of an upload is $code at $member, with $params',
    async ({ body = 'x', ...each }) => {
      const { code, params = {}, member, mutation } = each;
      const { errors } = await door.send(`/files/${mutation}`, { method: 'PUT', body });
      expect(errors[0]?.extensions?.['issues']).toEqual([
        { path: [member], code, params, message: expect.stringMatching(/\.$/) },
      ]);
    },
  );

  it('of a file in a mutation says how large it may be', async () => {
    const query = `mutation ($file: Upload!) { result: uploadFile(input: { file: $file }) {
      ... on InvalidInput { issues { path code params } } } }`;
    const body = new FormData();
    body.set('operations', JSON.stringify({ query, variables: { file: null } }));
    body.set('map', '{"0":["variables.file"]}');
    body.set('0', new File(['x'.repeat(101)], 'a.txt'));
    const headers = { 'apollo-require-preflight': 'true' };
    const { data } = await door.send('/graphql', { method: 'POST', headers, body });
    expect(data?.['result']).toEqual({ issues: [large] });
  });

  it('has each of its codes seen to here, and none of them costs a call', () => {
    const codes = schema.getType('InputIssueCode');
    const all = isEnumType(codes) ? codes.getValues().map(({ name }) => name) : [];
    // Of operations of jobs, which need a folder: see the tests of exports.
    const ofJobs = { code: 'INVALID_OPERATION' };
    const seen = new Set([...cases, ...uploads, large, ofJobs].map(({ code }) => code));
    expect([...seen].toSorted()).toEqual(all.toSorted());
    expect(door.calls()).toBe(0);
  });
});
