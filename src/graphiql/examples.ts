/** An operation that GraphiQL opens on; its tab takes the operation's name. */
export interface Example {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

const dashboard = `# The account, and ten channels with five items each.
# 12 upstream calls at first, none while fresh:
# extensions.upstream of the answer counts them.
query Dashboard {
  account {
    username
    email
    status
    expires
  }
  channels(first: 10) {
    totalCount
    nodes {
      name
      color
      starred
      items(first: 5) {
        nodes {
          __typename
          ... on ChannelEntry {
            title
            link
          }
        }
      }
    }
  }
}
`;

const channel = `# A channel holds links, bio pages and QR codes:
# ask each for what it has. The QR codes are
# read together, not one by one.
query Channel {
  channels(first: 1) {
    nodes {
      name
      description
      items(first: 20) {
        totalCount
        pageInfo {
          hasNextPage
          endCursor
        }
        nodes {
          ... on LinkItem {
            title
            link
            date
          }
          ... on BioItem {
            title
            preview
          }
          ... on QrItem {
            title
            qrCode {
              name
              scans
              link
            }
          }
        }
      }
    }
  }
}
`;

const qrStatistics = `# Statistics cost one upstream call per code.
# Leave them out, and they cost nothing.
query QrStatistics {
  qrCodes(first: 3) {
    nodes {
      name
      scans
      statistics {
        clicks
        uniqueClicks
        topCountries {
          label
          count
        }
        topBrowsers {
          label
          count
        }
        socialCounts {
          label
          count
        }
      }
    }
  }
}
`;

const storefront = `# The marketplace has a rate limit of its own.
query Storefront {
  seller {
    fullName
    balance
    currency
  }
  items(first: 8) {
    totalCount
    nodes {
      id
      name
      category
      price {
        regular
        extended
      }
      currency
      media {
        kind
        thumbnail
      }
    }
  }
}
`;

const purchase = `# Is this purchase code valid, and for what?
# An unknown code is null, not an error.
query Purchase($code: String!) {
  purchase(code: $code) {
    licenseType
    supportedUntil
    downloaded
    item {
      name
      version
      tags
    }
  }
}
`;

const newCampaign = `# A mutation answers with what it changed, or with why it did not: try a blank name.
mutation NewCampaign($input: CreateCampaignInput!) {
  createCampaign(input: $input) {
    __typename
    ... on Campaign {
      id
      name
      rotatorUrl
    }
    ... on InvalidInput {
      issues {
        path
        code
        params
        message
      }
    }
    ... on Rejected {
      message
    }
  }
}
`;

const newQrCode = `# One call for the code; its date is read from the list, because only the list knows it.
mutation NewQrCode {
  createQrCode(
    input: { type: LINK, data: { value: "https://example.com/menu" }, name: "Menu" }
  ) {
    __typename
    ... on QrCode {
      id
      name
      link
      date
    }
    ... on Error {
      message
    }
  }
}
`;

const newPixel = `# Every later list shows the new pixel: cached lists without it are dropped.
mutation NewPixel {
  createPixel(input: { type: GA, name: "Shop", tag: "G-4R7W2K9QXN" }) {
    __typename
    ... on Pixel {
      id
      type
      name
    }
    ... on Error {
      message
    }
  }
}
`;

const liveCampaigns = `# @live: stays current. Open this page once more, run NewCampaign there, and look here.
query LiveCampaigns @live {
  campaigns(first: 5) {
    totalCount
    nodes {
      name
      rotatorUrl
    }
  }
}
`;

const deferred = `# @defer: the codes come at once, their statistics later, as they arrive.
query Deferred {
  qrCodes(first: 5) {
    nodes {
      name
      scans
      ... @defer {
        statistics {
          clicks
          uniqueClicks
        }
      }
    }
  }
}
`;

const upload = `# Choose a file below Run. The server answers with its short link.
mutation Upload($input: UploadFileInput!) {
  uploadFile(input: $input) {
    __typename
    ... on File {
      id
      name
      shortUrl
    }
    ... on Error {
      message
    }
  }
}
`;

/**
 * What GraphiQL's tabs show on a first visit, in their order. `purchaseCode` is one that the marketplace
 * knows: its sandbox can promise that; for a real one, it is the reader who has to put a code there.
 */
export function exampleOperations(purchaseCode = 'a purchase code of yours'): readonly Example[] {
  return [
    { query: dashboard },
    { query: channel },
    { query: qrStatistics },
    { query: storefront },
    { query: purchase, variables: { code: purchaseCode } },
    { query: newCampaign, variables: { input: { name: 'Winter sale', public: true } } },
    { query: newQrCode },
    { query: newPixel },
    { query: liveCampaigns },
    { query: deferred },
    { query: upload },
  ];
}
