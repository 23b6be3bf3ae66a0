import { type Answer, escapeHtml, htmlPage, Refusal, unescapeHtml } from '../http/answer.ts';
import type { SandboxRequest } from '../http/router.ts';
import type { LinksStore } from '../links/store.ts';
import { drawPicture, isPictureKind } from '../media/pictures.ts';
import { drawQr } from '../media/qr-picture.ts';
import { LINK_KEYS } from '../seed/people.ts';
import { download } from './downloads.ts';
import { indexPage } from './index-page.ts';
import { type Pages, shown, showPage } from './page.ts';

const PAGES: Pages<LinksStore> = {
  'GET /login/sso/:token': ({ store, request }, { token = '' }) => signIn(store, request, token),
  'GET /f/:alias': ({ store, request }, { alias }) =>
    download(store, shown(store.files.all().find((row) => row.alias === alias)), request),
  'GET /qr/:alias': ({ store, request }, { alias = '' }) => {
    const bare = alias.replace(/\.(svg|png)$/, '');
    const png = alias.endsWith('.png') || request.query['format'] === 'png';
    const qr = shown(store.qrs.all().find((row) => row.alias === bare));
    return drawQr(qr, png ? 'png' : 'svg');
  },
  'GET /l/:alias': ({ store }, { alias }) => {
    const link = shown(store.links.all().find((row) => row.alias === alias));
    const picture = `<img src="${store.url}/media/preview/${link.alias}.svg" alt="">`;
    return plainPage(link.title, `${picture}<p>Leads to ${anchor(link.target ?? '')}</p>`);
  },
  'GET /bio/:alias': ({ store }, { alias }) => {
    const bio = shown(store.bios.all().find((row) => row.alias === alias));
    const links = store.links.of(bio.owner).filter(({ title }) => title.startsWith(bio.title));
    const items = links.map((link) => `<li>${anchor(`${store.url}/l/${link.alias}`)}</li>`);
    const picture = `<img src="${store.url}/media/preview/${bio.alias}.svg" alt="">`;
    return plainPage(bio.title, `${picture}<ul>${items.join('')}</ul>`);
  },
  'GET /campaign/:campaignid': ({ store }, { campaignid }) => {
    const campaign = shown(
      store.campaigns.all().find((row) => row.id === Number(campaignid) && row.public),
    );
    return plainPage(campaign.name, linkList(store, campaign.links));
  },
  'GET /r/:slug': ({ store }, { slug }) => {
    const campaign = shown(store.campaigns.all().find((row) => row.slug === slug));
    return plainPage(campaign.name, `<p>Rotates among</p>${linkList(store, campaign.links)}`);
  },
  'GET /media/:kind/:file': ({ store }, { kind, file = '' }) => {
    const name = file.replace(/\.svg$/, '');
    if (!isPictureKind(kind)) throw new Refusal(404, 'There is no such picture');
    const rows = [...store.links.all(), ...store.bios.all()];
    const label =
      kind === 'avatar'
        ? store.users.find((user) => user.username === name)?.username
        : rows.find((row) => row.alias === name)?.title;
    return drawPicture(kind, name, unescapeHtml(shown(label)));
  },
};

/** The pages of the link service, outside /api. */
export function linksPage(
  store: LinksStore,
  request: SandboxRequest,
  endpoints: readonly string[],
): Promise<Answer> {
  return showPage({ ...index(store, endpoints), ...PAGES }, store, request);
}

function index(store: LinksStore, endpoints: readonly string[]): Pages<LinksStore> {
  const [user] = store.users;
  const qr = store.qrs.all().find(({ type }) => type === 'link');
  const look = [
    ['A QR code to scan', `/qr/${qr?.alias}`],
    ['A short link', `/l/${store.links.all()[0]?.alias}`],
    ['A bio page', `/bio/${store.bios.all()[0]?.alias}`],
    ['A file to download', `/f/${store.files.all()[0]?.alias}`],
    ['An avatar', `/media/avatar/${user?.username}.svg`],
  ] as const;
  return {
    'GET /': () =>
      indexPage({
        title: 'Link management, sandbox',
        intro: 'The link management API with the data of a small design studio.',
        url: store.url,
        example: `curl -H 'Authorization: Bearer ${LINK_KEYS.admin}' ${store.url}/api/account`,
        endpoints,
        look,
      }),
  };
}

/** The URL is valid once, for an hour. Implements: Link API > States and transitions. */
function signIn(store: LinksStore, request: SandboxRequest, token: string): Answer {
  const login = shown(store.logins.get(token));
  const user = store.users.find((row) => row.id === login.user);
  if (!user || store.clock.wall() >= login.until)
    throw new Refusal(410, 'This sign-in address was used already or has expired');
  // Chat programs send a HEAD to preview a link: it must not count as a use.
  if (request.method !== 'HEAD') login.user = null;
  const name = escapeHtml(user.username);
  return htmlPage('Welcome', `<p>You are signed in as <strong>${name}</strong>.</p>`);
}

/** A page about a row. The title of the row is already escaped. */
function plainPage(title: string, content: string): Answer {
  return htmlPage(unescapeHtml(title), content);
}

function anchor(address: string): string {
  return `<a href="${escapeHtml(address)}">${escapeHtml(address)}</a>`;
}

function linkList(store: LinksStore, ids: ReadonlySet<number>): string {
  const links = store.links.all().filter((link) => ids.has(link.id));
  return `<ul>${links.map((link) => `<li>${anchor(`${store.url}/l/${link.alias}`)}</li>`).join('')}</ul>`;
}
