import { describe, expect, it } from 'vitest';
import { Stage } from './story.ts';

const stage = new Stage();

describe('QrDataInput', () => {
  it.each([
    ['TEXT', '{ value: "Opening hours\\n9 to 5" }', 'Opening hours\n9 to 5'],
    ['PHONE', '{ value: "+44 (0)20 7946-0000" }', '+44 (0)20 7946-0000'],
    ['EMAIL', '{ value: "ann@example.com" }', 'ann@example.com'],
    [
      'EMAIL',
      '{ fields: { email: "ann@example.com", subject: "Hi" } }',
      { email: 'ann@example.com', subject: 'Hi' },
    ],
    ['SMS', '{ value: "+4915112345678" }', '+4915112345678'],
    [
      'SMS',
      '{ fields: { phone: "+4915112345678", message: "Hi" } }',
      { phone: '+4915112345678', message: 'Hi' },
    ],
    [
      'WIFI',
      '{ fields: { ssid: "Guests", password: "cake;2" } }',
      { ssid: 'Guests', password: 'cake;2' },
    ],
    [
      'VCARD',
      '{ fields: { fname: "Ann", tel: 441, extra: { a: [1, null] } } }',
      { fname: 'Ann', tel: 441, extra: { a: [1, null] } },
    ],
  ])('sends the data of a %s code as %s', async (type, data, sent) => {
    const { result } = await stage.change(
      `createQrCode(input: { type: ${type}, data: ${data} })`,
      'QrCode { link }',
    );
    expect(result).toEqual({ __typename: 'QrCode', link: expect.stringContaining('/qr/') });
    expect(stage.written).toEqual([
      { method: 'POST', path: '/api/qr/add', body: { type: type.toLowerCase(), data: sent } },
    ]);
  });

  it('takes the parts of a code from variables', async () => {
    const fields = { ssid: 'Guests', hidden: true };
    const mutation = `mutation ($data: QrDataInput!) {
      createQrCode(input: { type: WIFI, data: $data }) { ... on QrCode { databaseId } }
    }`;
    await stage.world.data(mutation, { data: { fields } });
    const inside = `mutation ($ssid: String) {
      createQrCode(input: { type: WIFI, data: { fields: { ssid: $ssid } } }) { __typename }
    }`;
    await stage.world.data(inside, { ssid: 'Staff' });
    expect(stage.written.map(({ body }) => body)).toEqual([
      { type: 'wifi', data: fields },
      { type: 'wifi', data: { ssid: 'Staff' } },
    ]);
  });

  it.each([
    ['TEXT', '{ value: "  " }', 'data.value', 'blank'],
    ['TEXT', '{ fields: { text: "x" } }', 'data.fields', 'accepts `value`'],
    ['LINK', '{ value: "ftp://example.com" }', 'data.value', 'http'],
    ['LINK', '{ fields: { url: "https://example.com" } }', 'data.fields', 'accepts `value`'],
    ['PHONE', '{ value: "call me" }', 'data.value', 'phone number'],
    ['PHONE', '{ value: "+1" }', 'data.value', 'phone number'],
    ['EMAIL', '{ value: "ann at example.com" }', 'data.value', 'email'],
    ['EMAIL', '{ fields: { subject: "Hi" } }', 'data.fields.email', 'is required'],
    ['EMAIL', '{ fields: { email: "ann" } }', 'data.fields.email', 'email'],
    ['SMS', '{ fields: { phone: ["+49"] } }', 'data.fields.phone', 'is required'],
    ['SMS', '{ fields: { phone: "Ann" } }', 'data.fields.phone', 'phone number'],
    ['WIFI', '{ value: "Guests" }', 'data.value', 'accepts `fields`'],
    ['WIFI', '{ fields: { ssid: " " } }', 'data.fields.ssid', 'blank'],
    ['VCARD', '{ value: "Ann" }', 'data.value', 'accepts `fields`'],
    ['VCARD', '{ fields: { fname: "", lname: null } }', 'data.fields', 'at least one'],
    ['VCARD', '{ fields: {} }', 'data.fields', 'at least one'],
  ])('knows that %s cannot say %s', async (type, data, path, message) => {
    const { result, calls } = await stage.change(
      `createQrCode(input: { type: ${type}, data: ${data} })`,
      'QrCode { databaseId }',
    );
    expect(calls).toEqual([]);
    expect(result.issues).toEqual([
      { path: ['input', ...path.split('.')], message: expect.stringContaining(message) },
    ]);
  });

  it.each([
    ['both', '{ value: "x", fields: { a: 1 } }'],
    ['neither', '{}'],
    ['a null', '{ value: null }'],
    ['a list for an object', '{ fields: [1] }'],
    ['a text for an object', '{ fields: "x" }'],
  ])('takes exactly one kind of data, not %s', async (_, data) => {
    const { errors } = await stage.world.ask(
      `mutation { createQrCode(input: { type: VCARD, data: ${data} }) { __typename } }`,
    );
    expect(errors.length).toBeGreaterThan(0);
    for (const { extensions } of errors) {
      expect(extensions?.code).toBe('GRAPHQL_VALIDATION_FAILED');
    }
    expect(stage.world.calls()).toEqual([]);
  });

  it('leaves it to the upstream whether data fits a type that was not given', async () => {
    const { result, calls } = await stage.change(
      `updateQrCode(input: { id: "431", data: { value: "Guests" } })`,
      'QrCode { databaseId }',
    );
    expect(calls).toHaveLength(1);
    const message = 'The data of a vcard code must be an array';
    expect(result).toEqual({ __typename: 'Rejected', message, upstream: 'LINKS' });
  });
});
