/**
 * The words by which refusals are classified. Neither API documents its messages, a refusal often has status 200,
 * and installations translate them. An unrecognised refusal stays a refusal: an error with the message, which is
 * never taken for a result.
 */

/** Matches one of many patterns, case-insensitively. */
function anyOf(...patterns: readonly string[]): RegExp {
  return new RegExp(patterns.join('|'), 'iu');
}

/** The key itself is invalid. */
const badKey = anyOf(
  String.raw`^unauthori[sz]ed[.!]?$`,
  String.raw`\b(?:invalid|expired|missing|wrong|valid) (?:access )?(?:api[\s_-]?)?(?:token|key)\b`,
  String.raw`\bapi[\s_-]?key (?:has |is |was )?(?:been )?(?:invalid|expired|missing|wrong|revoked|disabled|required|not valid)\b`,
);

/** The message mentions a key, perhaps because of a missing permission. */
const anyKey = anyOf(
  String.raw`\bapi[\s_-]?key\b`,
  String.raw`\bunauthenticated\b`,
  String.raw`^unauthori[sz]ed\b`,
);

/**
 * The key, or its owner, lacks the permission. The bare word "admin" is not enough, because a refusal may be about
 * a user of that name; nor is "not allowed", which may be about the written value.
 */
const permission = anyOf(
  String.raw`\bpermissions?\b|\bprivileges?\b|\bforbidden\b|\bnot authori[sz]ed\b|\bscopes?\b`,
  String.raw`\badmin\w*[\s-]only\b|\b(?:only|must be|requires?|restricted to)\b.{0,20}\badmin`,
  String.raw`\binsufficient (?:access|rights)\b|\baccess rights?\b`,
  String.raw`\baccess (?:is |was |has been )?(?:denied|restricted)\b|\b(?:denied|no|not have|n['’]t have|without|lacks?) access\b`,
  String.raw`\baccess to .{1,60}\b(?:denied|restricted|limited|not allowed)\b|\bcan(?:not|['’]t| not) access\b`,
  String.raw`\b(?:not|n['’]t) (?:allowed|permitted|entitled|enabled) to (?:access|call|do|perform|read|see|view)\b`,
  // Spanish, Portuguese, French, Italian, Romanian.
  String.raw`\b(?:permisos?|permiss(?:ão|ões)|permess[io]|permisiun\p{L}*|privil[eè]g\p{L}*|autorizad[oa]s?|autorizzat[oaie])(?!\p{L})`,
  String.raw`\b(?:ac[cç]es\p{L}*|accès) (?:\p{L}+ )?(?:denegad|negad|refusé|interdit|negat|interzis|respins|prohibid|proibid)`,
  String.raw`\b(?:droits? (?:d['’]accès|insuffisants?|nécessaires?)|non autorisée?s?|pas (?:autorisée?s?|les droits))`,
  // German, Dutch, Swedish, Danish, Norwegian, Finnish.
  String.raw`berechtig(?:ung|t)|\bzugriff (?:\p{L}+ )?(?:verweigert|untersagt)|\bkeine rechte\b`,
  String.raw`\b(?:geen|niet|toegang).{0,20}(?:toegang|bevoegd|gemachtigd|geweigerd)|\bonvoldoende rechten\b`,
  String.raw`\b(?:åtkomst|adgang|tilgang)\p{L}* (?:nekad|nægtet|nektet)|\bbehörighet|\brettighed|\brettighet|\bpääsy (?:evätty|kielletty)|\bkäyttöoikeu`,
  // Polish, Czech, Hungarian, Russian, Ukrainian, Greek, Turkish.
  String.raw`uprawnie|odmow\p{L}* dostępu|dostęp zabroniony|oprávněn|přístup (?:byl )?(?:odepřen|zamítnut)|jogosult|hozzáférés megtagad`,
  String.raw`доступ\p{L}* (?:\p{L}+ )?(?:запрещ|отказ|закрыт|заборон)|отказано в доступе|(?:нет|недостаточно) (?:прав|доступа)|немає (?:прав|доступу)|разрешени`,
  String.raw`δικαιώμα|yetkiniz|yetkisiz|yetki yok|izniniz|erişim (?:engel|redd|yasak)`,
  // Arabic, Hebrew, Chinese, Japanese, Korean, Vietnamese, Indonesian.
  String.raw`صلاحي|غير مصرح|تم رفض الوصول|הרשא|הגישה נדחתה`,
  String.raw`权限|權限|无权|無權|拒绝访问|拒絕存取|禁止访问|権限|アクセス(?:が|は)?(?:拒否|禁止)|권한|접근.{0,6}거부|không (?:có|đủ) quyền|\bizin\b|akses ditolak`,
);

/** The object does not exist. */
const absence = anyOf(
  String.raw`\bnot (?:be )?found\b|\b(?:cannot|can['’]?t|could not|couldn['’]?t|can not) (?:be found|find)\b|\b(?:does not|doesn['’]?t|do not|don['’]?t) exist\b`,
  String.raw`\bno such\b|\bno longer exists?\b|\bnon-?existent\b|\bno (?:\p{L}+ ){1,3}(?:was |were )?found\b|\bnothing (?:was )?found\b`,
  String.raw`\b(?:unknown|invalid) (?:\p{L}+ )?id\b|\b(?:has|have) been (?:deleted|removed)\b`,
  // Spanish, Portuguese, French, Italian, Romanian.
  String.raw`\bn(?:o|ão|ao) (?:se |fue |foi |ha sido |pudo ser |pôde ser )?(?:encontr|localiz|ha(?:n)? encontrado|pudo encontrar)|\b(?:no|não|nao) exist`,
  String.raw`\bintrouvables?\b|n['’]existe|\b(?:pas|non|été) (?:été )?trouvé|\binexist|\binesist|\bnon (?:è stat[oa] |sono stati )?trovat|\bnon esist`,
  String.raw`\bnu (?:a fost |au fost )?găsit|\bnegăsit|\bnu există`,
  // German, Dutch, Swedish, Danish, Norwegian, Finnish.
  String.raw`\bnicht (?:gefunden|vorhanden|existent)|\bnicht (?:mehr )?existier|\bexistiert (?:\p{L}+ )?nicht\b|\bkein\p{L}* .{1,30}gefunden\b`,
  String.raw`\bniet (?:worden )?gevonden|\bbestaat niet|\bniet bestaa|\bgeen .{1,30}gevonden|\b(?:hittades|finns) (?:inte|ej)|\b(?:ikke|ikkje) fun[dn]et|\bfin[dn]es ikke|\beksisterer ikke|\bei löy|\bei ole olemassa`,
  // Polish, Czech, Hungarian, Russian, Ukrainian, Greek, Turkish.
  String.raw`\bnie znalezion|\bnie istnieje|\bnebyl\p{L}* nalezen|\bnenalezen|\bneexistuje|\bnem (?:található|találh|létezik)`,
  String.raw`не найден|не существует|не знайден|не існує|δεν βρέθηκ|δεν υπάρχει|bulunama|bulunmamakta|mevcut değil`,
  // Arabic, Hebrew, Hindi, Thai, Chinese, Japanese, Korean, Vietnamese, Indonesian.
  String.raw`غير موجود|لم يتم العثور|לא נמצא|לא קיי[םמ]|नहीं मिल|मौजूद नहीं|ไม่พบ|不存在|未找到|找不到|没有找到|沒有找到|見つかりません|存在しません|찾을 수 없|존재하지 않`,
  String.raw`không (?:tìm thấy|tồn tại)|\btidak (?:ditemukan|ada\b)`,
);

/** The meaning of a refusal's message; `null` if its words are not recognised. */
export function meaningOf(reason: string): 'unauthenticated' | 'forbidden' | 'absent' | null {
  if (badKey.test(reason)) return 'unauthenticated';
  if (permission.test(reason)) return 'forbidden';
  if (anyKey.test(reason)) return 'unauthenticated';
  return absence.test(reason) ? 'absent' : null;
}

const invalid = anyOf(
  String.raw`\binv[aá]lid|\binvalid|\bungültig|\bnon valid|\bongeldig|\bnieprawidłow|\bneplatn|\bérvénytelen|\bogiltig|\bugyldig|\bvirheelli`,
  String.raw`неверн|недейств|недійсн|невірн|άκυρ|geçersiz|غير صال|无效|無效|無効|유효하지|không hợp lệ|tidak valid`,
);
const code = anyOf(
  String.raw`c[oó]d(?:e|igo|ice)(?!\p{L})|code(?!\p{L})|\bk[oó]d|код|κωδικ|رمز|كود|代码|代碼|コード|코드|\bmã(?!\p{L})|\bkode`,
);

/** Whether a message says that a code is not valid, and does not refer to a key. */
export function saysInvalidCode(reason: string): boolean {
  return invalid.test(reason) && code.test(reason) && !/\bapi\b/i.test(reason);
}

const already = anyOf(
  String.raw`\balready (?:been )?(?:in|on|part|added|assigned|attached|linked|included|contains?|has (?:this|that|the)|exists?|there|present|belongs)\b`,
  // Spanish, Portuguese, French, Italian, Romanian.
  String.raw`\bya (?:está|existe|se |ha sido|fue|pertenece)|\bjá (?:está|existe|foi|pertence)|\bd[ée]j[àa](?!\p{L})|\bgià (?:\p{L}+ )?(?:present|esist|aggiunt|assegnat|inserit)`,
  // German, Dutch, Swedish, Danish, Norwegian, Finnish.
  String.raw`\b(?:bereits|schon) .{0,30}(?:zugewiesen|zugeordnet|hinzugefügt|vorhanden|enthalten|in de)|\b(?:al|reeds) (?:toegevoegd|toegewezen|in|aanwezig)\b|\bredan\b|\ballerede\b|\bon jo\b`,
  // Polish, Czech, Hungarian, Russian, Ukrainian, Greek, Turkish.
  String.raw`(?<!\p{L})(?:już|již|už)(?!\p{L})|\bmár (?:hozzá|szerepel|létez|benne)|уже|вже|ήδη|\bzaten\b`,
  // Chinese, Japanese, Korean, Vietnamese, Indonesian.
  String.raw`已经?(?:在|存在|添加|分配|加入)|已經|(?:すでに|既に)|이미|đã (?:có|tồn tại|được|nằm)|\bsudah\b`,
);
/** A limit that is reached, or another place. */
const elsewhere = anyOf(
  String.raw`\blimit|límite|\bmaxim|\bmáxim|\bquota|\breached\b|\bfull\b|\berreicht|\batteint|\balcan[zç]|\braggiunt|лимит|ліміт|предел|上限|限制|제한|giới hạn|\bbatas\b`,
  String.raw`\b(?:an)?other\b|\bdifferent\b|\bander|\botr[oa]|\boutr[oa]|\bautre|\baltr[oaă]|\bannan|\banden|\bannet|\btoise|\binn(?:y|ej)|\bjin[éý]|\bmásik|друг|інш|άλλ|\bbaşka|其他|另|別の|다른|\bkhác|\blain\b`,
);

/** Whether a refusal to add an item to something says that the item is in it. Words that are not recognised do not. */
export function saysAlreadyThere(reason: string): boolean {
  return already.test(reason) && !elsewhere.test(reason);
}
