import jsQR from 'jsqr';
import { PNG } from 'pngjs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Caller, startRoomy } from './caller.ts';

let api: Caller;
beforeAll(async () => {
  api = await startRoomy();
});
beforeEach(() => api.sandbox.reset());
afterAll(() => api.sandbox.close());

async function picture(link: string) {
  const response = await fetch(`${link}?format=png`);
  expect(response.headers.get('content-type')).toBe('image/png');
  const png = PNG.sync.read(Buffer.from(await response.arrayBuffer()));
  const text = jsQR.default(new Uint8ClampedArray(png.data), png.width, png.height)?.data;
  return { text, corner: [...png.data.subarray(0, 3)] };
}

const SHAPES: [string, unknown, string][] = [
  ['text', 'Free sample', 'Free sample'],
  ['link', 'https://example.com/a?b=c', 'https://example.com/a?b=c'],
  ['phone', '+49 30 5551234', 'tel:+49305551234'],
  ['email', 'a@example.com', 'mailto:a@example.com'],
  ['email', { email: 'a@example.com', subject: 'Hi you' }, 'mailto:a@example.com?subject=Hi%20you'],
  ['email', ['a@example.com', 'Hi'], 'mailto:a@example.com?subject=Hi'],
  ['sms', { phone: '030 5551234', message: 'Call me' }, 'SMSTO:0305551234:Call me'],
  [
    'wifi',
    { ssid: 'Guests;1', encryption: 'wpa', password: 'a:b' },
    'WIFI:T:WPA;S:Guests\\;1;P:a\\:b;;',
  ],
  ['wifi', { ssid: 'Open' }, 'WIFI:T:nopass;S:Open;;'],
  [
    'vcard',
    { fname: 'Ada', lname: 'Lovelace', email: 'ada@example.com' },
    'BEGIN:VCARD\nVERSION:3.0\nN:Lovelace;Ada\nFN:Ada Lovelace\nEMAIL:ada@example.com\nEND:VCARD',
  ],
];

describe('QR codes', () => {
  it.each(SHAPES)('of type %s hold %j', async (type, data, text) => {
    const { body } = await api.post('/api/qr/add', { type, data });
    expect(body).toEqual({ error: 0, id: expect.any(Number), link: expect.any(String) });
    expect((await picture(body.link)).text).toBe(text);
  });

  it('are drawn in their colours and appear in the list', async () => {
    const { id, link } = (
      await api.post('/api/qr/add', {
        type: 'text',
        data: 'Coloured',
        name: 'Blue on cream',
        background: 'rgb(250, 240, 220)',
        foreground: 'rgb(20,40,120)',
        logo: 'https://example.com/logo.png',
      })
    ).body;
    expect(await picture(link)).toEqual({ text: 'Coloured', corner: [250, 240, 220] });
    const svg = await fetch(link);
    expect(svg.headers.get('content-type')).toContain('image/svg+xml');
    expect(await svg.text()).toContain('#142878');
    const { data } = (await api.get('/api/qr?limit=1')).body;
    const row = { id, link, name: 'Blue on cream', scans: 0, date: expect.any(String) };
    expect(data.qrs).toEqual([row]);
    const read = (await api.get(`/api/qr/${id}`)).body;
    expect(read).toMatchObject({ error: 0, details: row, data: { clicks: 0, topOs: {} } });
  });

  it('are updated with data of their type, or of a type that comes along', async () => {
    const { id, link } = (await api.post('/api/qr/add', { type: 'link', data: 'https://a.com' }))
      .body;
    const update = (body: unknown) => api.put(`/api/qr/${id}/update`, body);
    expect((await update({ data: 'no address' })).body.error).toBe(1);
    expect((await picture(link)).text).toBe('https://a.com');
    expect((await update({ data: 'https://b.com' })).body).toEqual({
      error: 0,
      message: expect.any(String),
    });
    expect((await picture(link)).text).toBe('https://b.com');
    expect((await update({ type: 'text', data: 'words' })).body.error).toBe(0);
    expect((await picture(link)).text).toBe('words');
    expect((await update({ background: 'rgb(1,2,3)' })).body.error).toBe(1);
    expect((await api.put('/api/qr/1/update', { data: 'x' })).status).toBe(404);
  });

  it('are gone once deleted', async () => {
    const { id, link } = (await api.post('/api/qr/add', { type: 'text', data: 'x' })).body;
    expect((await api.delete(`/api/qr/${id}/delete`)).body.error).toBe(0);
    expect((await fetch(link)).status).toBe(404);
    expect((await api.get(`/api/qr/${id}`)).status).toBe(404);
    expect((await api.delete(`/api/qr/${id}/delete`)).status).toBe(404);
  });

  it.each([
    { data: 'x' },
    { type: 'geo', data: 'x' },
    { type: 'text' },
    { type: 'text', data: {} },
    { type: 'text', data: '' },
    { type: 'link', data: 'example.com' },
    { type: 'wifi', data: 'Guests' },
    { type: 'wifi', data: { password: 'x' } },
    { type: 'vcard', data: [] },
    { type: 'phone', data: 'call me' },
    { type: 'text', data: 'x'.repeat(3000) },
    { type: 'text', data: 'x', background: 'red' },
    { type: 'text', data: 'x', foreground: 'rgb(1,2,256)' },
    { type: 'text', data: 'x', logo: 'logo.gif' },
  ])('refuse %j', async (body) => {
    const refused = await api.post('/api/qr/add', body);
    expect(refused).toMatchObject({ status: 400, body: { error: 1, message: expect.any(String) } });
    expect((await api.get('/api/qr')).body.data.result).toBe(70);
  });

  it('of the seed can be scanned', async () => {
    const { data } = (await api.get('/api/qr?limit=100')).body;
    // Some of them: to read a picture takes long.
    for (const { link } of data.qrs.filter((_, at) => at % 8 === 0)) {
      expect((await picture(link)).text).toBeTruthy();
    }
  });
});
