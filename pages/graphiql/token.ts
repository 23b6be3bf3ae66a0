import { byId, show } from '../dom.ts';
import type { Complaint } from './answer.ts';
import { wantsToken } from './answer.ts';

const KEY = 'gateway:token';

/**
 * The token of the viewer: a field for it, with the reason why one is needed. It is kept as long as the
 * browser's tab is open, and is in no address.
 */
export class Token {
  readonly #form = byId('token') as HTMLFormElement;
  readonly #opener = byId('token-button');
  readonly #field = byId('token-field') as HTMLInputElement;
  readonly #onChange: () => void;
  #token = kept();
  /** Whether an answer has come with the token that there is. */
  #accepted = false;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
    byId('token-remove').addEventListener('click', () => this.#use(''));
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#use(this.#field.value.trim());
    });
    this.#form.addEventListener('keydown', ({ key }) => {
      if (key !== 'Escape') return;
      this.#hide();
      this.#opener.focus();
    });
    this.#opener.addEventListener('click', () => {
      if (this.#form.hidden)
        this.#show(this.#token ? 'This page sends the token with every request.' : usual);
      else this.#hide();
      if (!this.#form.hidden) this.#field.focus();
    });
    this.#draw();
  }

  /** To be sent with every request. */
  get headers(): Readonly<Record<string, string>> {
    return this.#token ? { authorization: `Bearer ${this.#token}` } : {};
  }

  /** Asks for a token, or for another one, where an answer says that it takes one. */
  judge(complaints: readonly Complaint[]): void {
    const refusedKey = complaints.find(
      ({ extensions }) => extensions?.code === 'UPSTREAM_UNAUTHENTICATED',
    );
    if (wantsToken(complaints)) {
      const said = complaints.find((each) => wantsToken([each]))?.message ?? '';
      this.#accepted = false;
      this.#show(
        this.#token
          ? `The gateway rejected this token: ${said}`
          : `This gateway requires a token: ${said}`,
      );
      this.#field.setAttribute('aria-invalid', String(this.#token !== ''));
    } else if (this.#token && refusedKey) {
      // With `AUTH_MODE=passthrough` it is the caller's key that goes to the API.
      this.#show(`The API rejected the key: ${refusedKey.message}`);
      this.#field.setAttribute('aria-invalid', 'true');
    } else if (this.#token && !this.#accepted && !this.#form.hidden) {
      this.#accepted = true;
      this.#hide();
    }
  }

  #use(token: string): void {
    this.#token = token;
    this.#accepted = false;
    try {
      if (token) sessionStorage.setItem(KEY, token);
      else sessionStorage.removeItem(KEY);
    } catch {
      // It is forgotten with the page then.
    }
    this.#field.value = '';
    this.#field.removeAttribute('aria-invalid');
    if (!token) this.#hide();
    this.#draw();
    this.#onChange();
  }

  #show(reason: string): void {
    show(byId('token-reason'), reason);
    this.#form.hidden = false;
    this.#draw();
  }

  #hide(): void {
    this.#form.hidden = true;
    this.#draw();
  }

  #draw(): void {
    byId('token-remove').hidden = this.#token === '';
    this.#opener.setAttribute('aria-expanded', String(!this.#form.hidden));
    this.#opener.textContent = this.#token ? 'Token in use' : 'Token';
  }
}

const usual =
  'If the gateway authenticates callers, enter a token. The page sends it with every request.';

function kept(): string {
  try {
    return sessionStorage.getItem(KEY) ?? '';
  } catch {
    return '';
  }
}
