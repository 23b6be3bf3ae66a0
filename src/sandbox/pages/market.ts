import { type Answer, escapeHtml, htmlPage, Refusal, unescapeHtml } from '../http/answer.ts';
import type { SandboxRequest } from '../http/router.ts';
import type { MarketStore } from '../market/store.ts';
import { drawPicture, isPictureKind } from '../media/pictures.ts';
import { playTune, showFilm } from '../media/recordings.ts';
import { MARKET_KEYS } from '../seed/market.ts';
import { indexPage } from './index-page.ts';
import { type Pages, shown, showPage } from './page.ts';

const PAGES: Pages<MarketStore> = {
  'GET /demo/:itemid': ({ store }, { itemid = '' }) => {
    const { name, description, media } = shown(findItem(store, itemid));
    const { thumbnail, preview_image, preview_audio, preview_video } = media;
    const heard = preview_audio ? `<p><audio controls src="${preview_audio}"></audio></p>` : '';
    const seen = preview_video
      ? `<p><video controls loop src="${preview_video}" width="512"></video></p>`
      : `<p><img src="${preview_image ?? thumbnail}" alt=""></p>`;
    const text = `<p>${escapeHtml(unescapeHtml(description))}</p>`;
    return htmlPage(unescapeHtml(name), text + seen + heard);
  },
  'GET /media/:kind/:file': ({ store }, { kind, file = '' }) => {
    const name = file.replace(/\.\w+$/, '');
    const item = findItem(store, name.replace(/-\d+$/, ''));
    if (kind === 'audio' && item?.media.preview_audio) return playTune();
    if (kind === 'video' && item?.media.preview_video) return showFilm();
    if (!isPictureKind(kind)) throw new Refusal(404, 'There is no such picture');
    const seller = store.sellers.find(({ username }) => username === name)?.full_name;
    return drawPicture(kind, name, unescapeHtml(shown(item?.name ?? seller)));
  },
};

/** The pages of the marketplace, outside /api. */
export function marketPage(
  store: MarketStore,
  request: SandboxRequest,
  endpoints: readonly string[],
): Promise<Answer> {
  return showPage({ ...index(store, endpoints), ...PAGES }, store, request);
}

function index(store: MarketStore, endpoints: readonly string[]): Pages<MarketStore> {
  const items = store.sellers.flatMap((seller) => seller.items);
  const demo = (kind: 'preview_video' | 'preview_audio' | 'screenshots') =>
    `/demo/${items.find(({ media }) => media[kind])?.id}`;
  return {
    'GET /': () =>
      indexPage({
        title: 'Marketplace, sandbox',
        intro: 'The marketplace API with the shop of a small design studio.',
        url: store.url,
        example: `curl '${store.url}/api/account/details?api_key=${MARKET_KEYS.seller}'`,
        endpoints,
        look: [
          ['A template', demo('screenshots')],
          ['A film', demo('preview_video')],
          ['A tune', demo('preview_audio')],
        ],
      }),
  };
}

function findItem(store: MarketStore, id: string) {
  return store.sellers.flatMap((seller) => seller.items).find((item) => String(item.id) === id);
}
