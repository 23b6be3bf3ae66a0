import { type Answer, escapeHtml, htmlPage } from '../http/answer.ts';

/** The page at `/`, which describes this server and lists its endpoints. */
export function indexPage(given: {
  title: string;
  intro: string;
  url: string;
  example: string;
  endpoints: readonly string[];
  /** Addresses of examples, as label and path. */
  look: readonly (readonly [string, string])[];
}): Answer {
  const { title, intro, url, example, endpoints, look } = given;
  const rows = endpoints.map((endpoint) => {
    const [method, path] = endpoint.split(' ');
    return `<tr><td>${method}</td><td><code>${path}</code></td></tr>`;
  });
  const links = look.map(
    ([label, path]) => `<li><a href="${escapeHtml(url + path)}">${escapeHtml(label)}</a></li>`,
  );
  return htmlPage(
    title,
    `<p>${escapeHtml(intro)} Everything is in memory and is as new after a restart.</p>
<p>Try it:</p><pre><code>${escapeHtml(example)}</code></pre>
<ul>${links.join('')}</ul><table><tbody>${rows.join('')}</tbody></table>`,
  );
}
